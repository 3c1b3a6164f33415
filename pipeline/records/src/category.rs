//! The closed lists of categories (DECISIONS §1; spec, "Memory").

use crate::named;

named! {
    /// What a conversation is about: 33 categories.
    Category {
        Personal = "personal", Education = "education", Health = "health", Finance = "finance", Legal = "legal",
        Philosophy = "philosophy", Spiritual = "spiritual", Science = "science",
        Entrepreneurship = "entrepreneurship", Parenting = "parenting", Romantic = "romantic", Travel = "travel",
        Inspiration = "inspiration", Technology = "technology", Business = "business", Social = "social",
        Work = "work", Sports = "sports", Politics = "politics", Literature = "literature", History = "history",
        Architecture = "architecture", Music = "music", Weather = "weather", News = "news",
        Entertainment = "entertainment", Psychology = "psychology", Real = "real", Design = "design",
        Family = "family", Economics = "economics", Environment = "environment", Other = "other",
    }
}

named! {
    /// What a memory is about (spec, "Memory").
    MemoryCategory {
        Core = "core", Hobbies = "hobbies", Lifestyle = "lifestyle", Interests = "interests", Habits = "habits",
        Work = "work", Skills = "skills", Learnings = "learnings", Other = "other", System = "system",
    }
}
