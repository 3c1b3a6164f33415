//! Words for people, by their relation to the speaker and by what they do.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Family and friends.
const RELATIVES: &str = "wife husband spouse partner fiance fiancee fiancé fiancée girlfriend boyfriend ex mother mom mum mama father dad papa stepmother \
    stepfather stepmum stepdad parents sister brother sibling twin half-sister half-brother stepsister stepbrother son daughter stepson stepdaughter \
    child kid baby boy girl boys girls kids children grandmother grandma granny nan gran grandfather grandpa grandad granddad grandson granddaughter \
    grandchildren grandchild aunt auntie uncle niece nephew cousin cousins godmother godfather godson goddaughter mother-in-law father-in-law \
    sister-in-law brother-in-law son-in-law daughter-in-law in-laws family friend friends flatmate roommate housemate neighbour neighbor \
    folks parents sisters brothers sons daughters nieces nephews aunts uncles grandsons granddaughters stepsons stepdaughters toddler toddlers";

/// What people do. Words of more than one mean the last of them.
const TRADES: &str = "accountant actor actress administrator adviser advisor agent analyst archaeologist architect artist assistant astronomer athlete author \
    baker banker barber barista bartender beekeeper biologist bookkeeper boss bricklayer builder butcher captain carer caretaker caregiver carpenter cashier \
    chef chemist chiropractor cleaner clerk coach colleague composer conductor consultant cook coroner councillor counsellor courier curator dancer \
    dealer decorator dentist designer detective developer dietician director doctor driver ecologist economist editor electrician engineer \
    estate-agent examiner farmer firefighter fisherman florist gardener geologist glazier gp guard guide hairdresser handyman headteacher historian \
    hygienist illustrator inspector installer instructor interpreter investor janitor jeweller joiner journalist judge labourer landlady landlord lawyer lecturer \
    librarian lifeguard locksmith locum machinist manager mason mathematician mayor mechanic midwife minister model musician nanny notary nurse \
    nutritionist officer operator optician optometrist organist orthodontist osteopath painter paralegal paramedic pastor pharmacist photographer physicist physio physiotherapist \
    pianist pilot plasterer plumber podiatrist poet policeman policewoman porter postman potter priest principal producer professor programmer prosecutor psychiatrist \
    psychologist publisher rabbi radiographer radiologist ranger realtor receptionist recruiter referee removalist repairman reporter researcher roofer sailor salesman saleswoman \
    scientist sculptor seamstress secretary shepherd singer social-worker soldier solicitor statistician student supervisor supplier surgeon surveyor tailor \
    teacher technician tenant tenants therapist tiler trainee trainer translator tutor typist undertaker upholsterer vet veterinarian vicar violinist waiter waitress \
    caterer scaffolder treasurer registrar bursar chairman chairwoman electricians plumbers caseworker matron consultant surveyor \
    watchmaker welder writer zoologist client clients customer customers guest guests visitor visitors bishop movers auditors auditor inspectors bailiff sweep boss dog cat";

static PEOPLE: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| RELATIVES.split_whitespace().chain(TRADES.split_whitespace()).collect());

/// Family and friends, for building patterns.
pub(in crate::embedded) fn relatives() -> impl Iterator<Item = &'static str> {
    RELATIVES.split_whitespace()
}

/// What people do, for building patterns.
pub(in crate::embedded) fn trades() -> impl Iterator<Item = &'static str> {
    TRADES.split_whitespace()
}

/// Whether `word` (lower case) is a person by relation or trade.
pub(in crate::embedded) fn is_person(word: &str) -> bool {
    PEOPLE.contains(word)
}
