select exists (
    select from finalization_admissions
    where user_id = $1 and conversation_id = $2 and revision > $3
)
