select $1::text
