//! The notice for users whose language the rules do not know. An empty list of tasks looks like an answer, and no
//! field of a conversation says otherwise; so the overview does, in the language of the talk.

use records::Talk;

use super::capitals;
use super::language::Language;

/// In any other language, English.
const NOTICES: &[(&str, &str)] = &[
    ("de", "Aufgaben, Termine und Merkenswertes wurden in dieser Sprache nicht gesucht."),
    ("es", "En este idioma no se han buscado tareas, citas ni datos que recordar."),
    ("fr", "Les tâches, les rendez-vous et les faits à retenir n'ont pas été cherchés dans cette langue."),
    ("it", "In questa lingua non sono stati cercati compiti, appuntamenti e fatti da ricordare."),
    ("pt", "Neste idioma não foram procuradas tarefas, compromissos nem factos a recordar."),
    ("nl", "Taken, afspraken en weetjes zijn in deze taal niet gezocht."),
    ("sv", "Uppgifter, möten och fakta att minnas har inte sökts på detta språk."),
    ("da", "Opgaver, aftaler og ting at huske er ikke fundet frem på dette sprog."),
    ("no", "Oppgaver, avtaler og ting å huske er ikke lett etter på dette språket."),
    ("fi", "Tehtäviä, tapaamisia ja muistettavia asioita ei etsitty tällä kielellä."),
    ("hu", "Ezen a nyelven nem kerestünk teendőket, időpontokat és megjegyzendő tényeket."),
    ("ro", "În această limbă nu s-au căutat sarcini, întâlniri și lucruri de reținut."),
    ("pl", "W tym języku nie szukano zadań, spotkań ani faktów do zapamiętania."),
    ("cs", "V tomto jazyce se úkoly, schůzky ani fakta k zapamatování nehledaly."),
    ("ru", "Задачи, встречи и факты для запоминания на этом языке не искались."),
    ("uk", "Завдання, зустрічі та факти для запам'ятовування цією мовою не шукалися."),
    ("el", "Σε αυτή τη γλώσσα δεν αναζητήθηκαν εργασίες, ραντεβού και πληροφορίες προς απομνημόνευση."),
    ("tr", "Bu dilde görevler, randevular ve hatırlanacak bilgiler aranmadı."),
    ("vi", "Công việc, lịch hẹn và thông tin cần nhớ không được tìm kiếm trong ngôn ngữ này."),
    ("id", "Tugas, janji temu, dan fakta untuk diingat tidak dicari dalam bahasa ini."),
    ("ar", "لم يُبحث في هذه اللغة عن المهام والمواعيد والمعلومات الجديرة بالحفظ."),
    ("he", "משימות, פגישות ועובדות שכדאי לזכור לא חופשו בשפה זו."),
    ("hi", "इस भाषा में कार्य, मुलाक़ातें और याद रखने योग्य बातें नहीं खोजी गईं।"),
    ("zh", "未查找此语言中的待办事项、日程和值得记住的事实。"),
    ("ja", "この言語では、タスク、予定、覚えておくべき事柄は抽出されていません。"),
    ("ko", "이 언어에서는 할 일, 일정, 기억할 사실을 찾지 않았습니다."),
    ("th", "ระบบไม่ได้ค้นหางานที่ต้องทำ นัดหมาย และข้อมูลที่ควรจดจำในภาษานี้"),
];
const OTHERWISE: &str = "Action items, events and memories were not looked for in this language.";

/// `overview` as a person is to read it: of a talk that was not read for items, with a paragraph that says so.
pub(super) fn said_in(language: Language, talk: &Talk, overview: String) -> String {
    if language.is_english() {
        return capitals::restored(&overview).into_owned();
    }
    if overview.is_empty() {
        return overview;
    }
    format!("{overview}\n\n{}", notice(&language.code_of(talk)))
}

fn notice(code: &str) -> &'static str {
    let known = NOTICES.iter().find(|(known, _)| *known == code);
    known.map_or(OTHERWISE, |(_, notice)| notice)
}

#[cfg(test)]
mod tests {
    use super::super::tests::talk;
    use super::*;

    fn notice(code: &str) -> String {
        notice_of("…", code)
    }

    fn notice_of(text: &str, code: &str) -> String {
        let mut said = talk(text);
        said.language = code.to_owned();
        said_in(Language::of(&said), &said, "Es regnet.".to_owned())
    }

    #[test]
    fn a_person_is_told_in_the_language_of_the_talk_what_was_not_looked_for() {
        assert!(
            notice("de")
                .ends_with("\n\nAufgaben, Termine und Merkenswertes wurden in dieser Sprache nicht gesucht.")
        );
        assert!(notice("es").contains("no se han buscado tareas"));
        assert!(notice("xx").ends_with(OTHERWISE));
        assert_eq!(notice("en"), "Es regnet.");
        assert!(notice("he-IL").contains("משימות"), "a language that is read by the length of its words");
        for (text, expected) in [
            ("明日の朝、歯医者に電話する。", "タスク"),
            ("明天下午去看牙医。", "待办事项"),
            ("내일 오후에 회의가 있습니다.", "할 일"),
            ("พรุ่งนี้มีประชุม", "งานที่ต้องทำ"),
            ("מחר בשלוש יש פגישה.", "משימות"),
            ("Завтра в три встреча.", "not looked for"),
        ] {
            assert!(notice_of(text, "en").contains(expected), "{text}");
        }
    }
}
