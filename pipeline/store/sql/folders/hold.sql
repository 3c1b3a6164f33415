select folder_id
from folders
where user_id = $1 and folder_id = $2
for key share
