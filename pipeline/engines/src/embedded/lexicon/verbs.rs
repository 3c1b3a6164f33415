//! Verbs of tasks, verbs that never begin a task, and synonyms.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::word_list::{Listed, WordList};

/// Base forms with which a task in the imperative begins.
const TASK_VERBS: &str = "accept accompany add adjust advertise alter analyse analyze announce apologise apologize apply \
    appoint approve archive arrange ask assemble assess assign attach attend babysit backup bake bill \
    block book borrow bring build buy calculate call cancel carry cater change charge chase check choose \
    clean clear close co-ordinate collate collect commission compare compile complete confirm contact \
    contribute convert cook coordinate copy correct create cut darn debug decline decorate deep-clean \
    defrost delete deliver deploy descale design deworm disable discuss dismantle document donate \
    download draft drop edit email empty enable enrol enroll escalate estimate evaluate evict exchange \
    exclude execute extend feed fetch figure file fill fillet find finalise finalize finish fix follow \
    forward foster fumigate fundraise generate get grab groom hand hang hire hoover immunise immunize \
    implement include inflate inform inoculate insert inspect install insulate interview investigate \
    invite iron jot laminate learn lend lock loosen lower mail measure meet memorise memorize mend merge \
    message migrate monitor mop move mow negotiate nominate notify obtain open order organise organize \
    outline pack paint park pay phone pick ping plan plant polish post practise prepare prescribe \
    present print process proofread propose provide prune publish purchase raffle raise rake read \
    rearrange rebook recharge reclaim reconcile record recruit recycle redecorate redo refill refit \
    refuel refund refurbish register rehearse reimburse reinstall reload remind remount remove renew \
    rent reorder repaint repair replace replant reply report repot reprint request reschedule research \
    resend reserve reset resize resolve respond restart restock restore retake retrieve return review \
    revise rewire rewrite ring rinse roll rotate run save scan schedule scrub seal secure sell send \
    separate set sew share sharpen ship shop shorten show shred sign sort speak start store straighten \
    submit subscribe summarise summarize supply swap sweep switch tabulate take talk teach tell test \
    text tidy tighten top tow track train transfer translate trim tune turn unblock underline unload \
    unlock unpack unplug unsubscribe untangle unwrap update upgrade upload vaccinate vacuum validate \
    ventilate verify visit walk warm wash water weigh winterize wipe wire withdraw wrap write \
    introduce revert circulate rework rethink reword rephrase redraft restructure refactor rebase rerun \
    retest benchmark shortlist notarize countersign reassign redeploy renegotiate prioritise prioritize \
    reassemble bleed lubricate sand varnish grout unclog declutter sterilise sterilize mulch fertilise \
    fertilize microchip dispute enquire inquire resubmit transcribe annotate highlight skim photograph \
    staple locate procure escort chauffeur thank congratulate nudge warn consult convince persuade \
    rebuild rename reformat flag liaise sync onboard insure reconnect disconnect reinstate rehouse \
    invoice peel chop freeze thaw glue drill unscrew google search claim declare split divide quote film grade tick label \
    soak fold press bleach brush box stack patch throw bin chuck dump log empty nail screw hammer \
    realign calibrate redirect reinforce reattach dig bleach strim sow deduct reactivate deactivate \
    drain rsvp hoover dust weed tape greet brief notarise certify spray harvest stow reapply reboot refresh \
    retrain caulk marinate preheat slice grate whisk scrape grease hose clip tie strip prime wallpaper mount hoist \
    tally itemise itemize shave bathe worm neuter spay canvass debrief reconvene double-check \
    rewash reschedule relabel collate decorate \
    declutter destroy \
    launder \
    retype sanitise sanitize settle \
    test-drive unwrap upholster widen winterise \
    darken lighten brighten strengthen lengthen deepen thicken flatten soften harden dampen fasten broaden simplify \
    clarify rectify modify specify recount reprice reread rewatch repack repackage reship resurface reseal restock \
    refile restring reheat retile remeasure recheck reconfirm reupload rehang stir knead baste drizzle haul \
    transplant unfreeze unhook unroll untie unzip disassemble dismount decommission degrease redraw rekey relight renumber \
    repoint rescan reseed reshuffle restitch resupply retouch allocate attest augment certify classify dispatch emphasise \
    emphasize enlarge expedite familiarise formulate moderate omit pare postpone propagate reckon remake reuse sift skewer \
    squash supervise tailor tweak vet sketch gather draw recap relay refine rearrange whitewash obtain e-mail outline deal fax practise relocate reply";

/// Verbs that follow "I'll", "we should", "can you" without being a task.
pub(in crate::embedded) const VAGUE_VERBS: &[&str] = &[
    "be",
    "become",
    "say",
    "think",
    "guess",
    "know",
    "believe",
    "suppose",
    "admit",
    "agree",
    "assume",
    "bet",
    "hope",
    "wish",
    "feel",
    "love",
    "like",
    "hate",
    "miss",
    "hear",
    "imagine",
    "remember",
    "understand",
    "mean",
    "wait",
    "have",
    "need",
    "want",
    "stay",
    "live",
    "sleep",
    "die",
    "cry",
    "laugh",
    "enjoy",
    "worry",
    "wonder",
    "seem",
    "appear",
    "happen",
    "exist",
    "depend",
    "stop",
    "hold",
    "let",
    "see",
    "explain",
    "repeat",
    "elaborate",
    "go",
    "come",
    "try",
    "never",
    "not",
    "always",
    "probably",
    "lose",
    "win",
    "fail",
    "begin",
    "continue",
    "focus",
    "catch",
    "cover",
    "care",
    "stick",
    "afford",
    "expect",
    "consider",
    "move on",
];

/// Verbs of telling, which name no topic; matched in their "-s" form as well.
const NARRATIVE_VERBS: &str = "prefer expire speak fail cost save insist turn saw lost won sound cover mention hold bet mind swear \
    matter belong contain involve remain suggest decide claim tend manage finish join sit stand eat drink drive studies quit allow mean meant thought brought bought \
    paid sent wrote felt found left met ran sold spent taught caught began broke chose drew fell flew grew heard hid hit led lay rose sang sank slept spoke stole struck \
    wore woke breathe smell taste recognise recognize overstate understate ring run end start open close leave arrive begin expire happen cheap cheapest expensive furious happy sad tired busy hard easy nice late early sick \
    bigger smaller larger higher lower longer shorter cheaper louder faster slower older younger later earlier hotter \
    colder warmer easier harder nicer safer stronger weaker wider thicker heavier lighter newer closer";

/// Participles that do not end in "ed".
const IRREGULAR: &[(&str, &str)] = &[
    ("serviced", "service"),
    ("sent", "send"),
    ("bought", "buy"),
    ("paid", "pay"),
    ("written", "write"),
    ("rewritten", "rewrite"),
    ("done", "do"),
    ("made", "make"),
    ("built", "build"),
    ("brought", "bring"),
    ("taken", "take"),
    ("sold", "sell"),
    ("told", "tell"),
    ("set", "set"),
    ("cut", "cut"),
    ("fed", "feed"),
    ("read", "read"),
    ("run", "run"),
    ("shown", "show"),
    ("found", "find"),
    ("chosen", "choose"),
    ("withdrawn", "withdraw"),
    ("taught", "teach"),
];

/// Verbs of advice: a doctor's, a trainer's, a teacher's imperatives. With them an object must be named.
static ADVICE_VERBS: WordList = WordList::new(
    "give keep stretch avoid eat drink rest wear apply rinse leave skip swallow massage make drive breathe practise practice chew lift limit reduce \
    inhale gargle bandage elevate cool ice disinfect cover uncover revise study solve answer underline bring do try log note",
);

static TASK: LazyLock<HashSet<&'static str>> = LazyLock::new(|| TASK_VERBS.split_whitespace().collect());
static VAGUE: LazyLock<HashSet<&'static str>> = LazyLock::new(|| VAGUE_VERBS.iter().copied().collect());
static NARRATIVE: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| NARRATIVE_VERBS.split_whitespace().collect());
static PARTICIPLES: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
    let regular = TASK_VERBS
        .split_whitespace()
        .flat_map(|verb| participles(verb).into_iter().map(move |form| (form, verb)));
    regular.chain(IRREGULAR.iter().map(|(form, verb)| ((*form).to_owned(), *verb))).collect()
});

/// The possible regular participles of `verb`; the wrong ones are words that do not occur.
fn participles(verb: &str) -> Vec<String> {
    if let Some(stem) = verb.strip_suffix('e') {
        return vec![format!("{stem}ed")];
    }
    let mut forms = vec![format!("{verb}ed")];
    if let Some(stem) = verb.strip_suffix('y') {
        forms.push(format!("{stem}ied"));
    }
    if let Some(last) = verb.chars().last() {
        forms.push(format!("{verb}{last}ed"));
    }
    forms
}

/// The base form of a gerund such as "sending": a known verb, else what is left without its ending.
pub(in crate::embedded) fn base_of_gerund(word: &str) -> Option<String> {
    let stem = word.strip_suffix("ing").filter(|stem| stem.len() > 1)?;
    let mut single = stem.chars();
    single.next_back();
    let known = [stem.to_owned(), format!("{stem}e"), single.as_str().to_owned()];
    Some(known.into_iter().find(|verb| is_task_verb(verb)).unwrap_or_else(|| stem.to_owned()))
}

/// Whether `word` (lower case) is the base form of a verb of tasks.
pub(in crate::embedded) fn is_task_verb(word: &str) -> bool {
    TASK.contains(word)
}

/// Whether `word` (lower case) is the base form of a verb with which people advise.
pub(in crate::embedded) fn is_advice_verb(word: &str) -> bool {
    ADVICE_VERBS.has(word)
}

/// Whether `word` (lower case) is a verb that makes no task.
pub(in crate::embedded) fn is_vague_verb(word: &str) -> bool {
    VAGUE.contains(word)
}

/// Whether `word` (lower case) tells of something without naming a topic, such as "prefers" or "sent".
pub(in crate::embedded) fn is_narrative_verb(word: &str) -> bool {
    let base = word.strip_suffix('s').unwrap_or(word);
    let told = |word: &str| NARRATIVE.contains(word);
    told(word) || told(base) || (base != word && is_vague_verb(base))
}

/// The base form of a participle such as "renewed" or "paid".
pub(in crate::embedded) fn base_of_participle(word: &str) -> Option<&'static str> {
    PARTICIPLES.get(word).copied()
}

/// Past tenses that are no participles.
const PAST: &[(&str, &str)] = &[
    ("took", "take"),
    ("gave", "give"),
    ("wrote", "write"),
    ("got", "get"),
    ("did", "do"),
    ("put", "put"),
    ("rang", "ring"),
    ("drove", "drive"),
    ("kept", "keep"),
    ("left", "leave"),
    ("spoke", "speak"),
    ("chose", "choose"),
    ("ran", "run"),
    ("let", "let"),
    ("met", "meet"),
    ("lent", "lend"),
];

/// The base form of a past tense such as "took" or "printed".
pub(in crate::embedded) fn base_of_past(word: &str) -> Option<&'static str> {
    let irregular = PAST.iter().find(|(past, _)| *past == word).map(|(_, verb)| *verb);
    irregular.or_else(|| base_of_participle(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participles_lead_back_to_their_verbs() {
        for (form, verb) in [
            ("renewed", "renew"),
            ("paid", "pay"),
            ("replied", "reply"),
            ("shipped", "ship"),
            ("updated", "update"),
        ] {
            assert_eq!(base_of_participle(form), Some(verb));
        }
        assert_eq!(base_of_participle("red"), None);
    }
}
