//! Adjectives and words of manner, which describe a topic but do not name one.

use std::collections::HashSet;
use std::sync::LazyLock;

const ADJECTIVES: &str = "able afraid alive allergic alone amazing angry annual annoying anxious available awake awesome awful awkward bad bare beautiful big \
    bilingual bitter blind blue bold bored boring brave brief bright brilliant broken brown bright busy calm careful careless cheap cheerful clean clear clever \
    close cold comfortable common complete complicated confident confused content convinced cool correct cosy crazy crisp cruel curious cute damp dangerous \
    dark dead deaf dear deep delicious dense desperate different difficult diligent dirty distant divine double dry dull eager early eastern easy elegant \
    empty enormous entire envious equal essential even exact excellent excited exciting exhausted expensive extra extreme fair faithful familiar famous \
    fancy fantastic fast fat favourite favorite fierce final firm fit flat flexible foolish foreign former formal fragile frank free fresh friendly frozen full \
    funny furious gentle genuine giant glad gloomy golden gorgeous grand grateful great green grey gray guilty handsome handy happy hard harmless harsh \
    healthy heavy helpful helpless hidden high hollow honest horrible hot huge humble hungry ideal idle ill immediate impatient important impossible \
    impressed incredible independent innocent insane interested interesting jealous joint keen kind large last late lazy legal leggy light lively local lonely long \
    loose loud lovely low loyal lucky lukewarm mad main major married massive mature mild miserable modern modest moody muddy multiple naked narrow nasty \
    natural nearby neat necessary nervous nice noble noisy normal northern nowt numb obvious odd official ok old only open opposite ordinary original outer \
    overdue pale particular patient perfect permanent personal pink plain pleasant pleased polite poor popular positive possible potential pregnant present \
    pretty previous private professional proper proud public pure purple quick quiet rapid rare raw ready real reasonable recent red regular related relaxed \
    relevant reliable remote responsible rich ridiculous right ripe rough round rude sad safe same scared scary seasonal secret secure senior separate serious \
    severe shallow sharp shiny short shy sick significant silent silly similar simple single slight slim slippery slow small smart smooth social soft solid sore sour \
    southern spare special specific spicy square stable stale steady steep sticky stiff straight strange strict strong stubborn stupid stunning sudden sufficient suitable super \
    superb sure surprised suspicious sweet swollen tall tame temporary tender terrible thick thin thirsty thorough tidy tight tiny tired top total tough traditional \
    tricky true typical ugly unable unfair unhappy unique unlucky unusual upper upset urgent used useful useless usual vague vain valid various vast vegetarian vegan \
    violent visible vital vivid warm weak wealthy weekly weird western wet white whole wicked wide wild willing windy wise wonderful wooden worried worse worst worth \
    worthy wrong yellow young yummy half third quarter ninety seventy eighty sixty dozen knackered grand nowt aye sadly brilliant unlucky stiff smeared fashionably \
    honestly sir madam ma'am darling mate folks guys hooray bless amen cheers regards sincerely dear hiya hullo welcome listen";

static SET: LazyLock<HashSet<&'static str>> = LazyLock::new(|| ADJECTIVES.split_whitespace().collect());

/// Whether `word` (lower case) describes and names nothing.
pub(in crate::embedded) fn is_adjective(word: &str) -> bool {
    SET.contains(word)
        || word.len() > 5
            && (word.ends_with("ful") && word != "handful"
                || word.ends_with("ous")
                || word.ends_with("less")
                || word.ends_with("est")
                    && word.len() < 9
                    && !matches!(
                        word,
                        "harvest" | "interest" | "request" | "contest" | "forest" | "protest" | "conquest"
                    ))
}
