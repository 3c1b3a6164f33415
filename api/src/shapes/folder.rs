//! Folders.

use store::FolderView;

use super::Time;

shape! {
    /// A folder for conversations.
    // DECISIONS §1, "folder".
    pub folder(folder: &FolderView) -> Folder {
        /// Its id, for the filter `folder_id`.
        id: String = folder.id.as_str().to_owned(), "work";
        /// Its name, 1–100 characters.
        name: String = folder.name.clone(), "Work";
        /// The rule, in words, by which conversations are filed here.
        description: Option<String> = folder.description.clone(),
            "Meetings, projects, colleagues, customers and everything about a job";
        /// Such as `#6B7280`.
        color: String = folder.color.clone(), "#6B7280";
        /// A name or an emoji.
        icon: String = folder.icon.clone(), "folder";
        /// Its place among folders.
        order: i32 = folder.order, 0;
        /// Whether clients offer it first; always false so far.
        is_default: bool = folder.is_default, false;
        /// It exists for every user.
        is_system: bool = folder.is_system, true;
        /// How many conversations are in it.
        #[schemars(range(min = 0))]
        conversation_count: i64 = folder.conversation_count, 4;
        /// When it was made.
        created_at: Time = folder.created_at.into(), "2026-11-20T12:00:00Z";
        /// When it last changed.
        updated_at: Time = folder.updated_at.into(), "2026-11-20T12:00:00Z";
    }
}
