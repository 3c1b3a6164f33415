//! What some categories sound like in languages other than English. General words of each language; where two
//! categories are equal, the earlier one of [`super::SUBJECTS`] wins.

use records::Category::{
    self, Education, Entertainment, Family, Finance, Health, Legal, Music, Personal, Politics, Real, Social,
    Sports, Technology, Travel, Weather, Work,
};
use rust_stemmers::Algorithm;

/// The words of a category.
pub(in crate::embedded) type Topic = (Category, &'static str);

/// A language's code (ISO 639-1), its stemmer if there is one, and the words of its categories.
pub(in crate::embedded) const LANGUAGES: &[(&str, Option<Algorithm>, &[Topic])] = &[
    ("de", Some(Algorithm::German), GERMAN),
    ("es", Some(Algorithm::Spanish), SPANISH),
    ("fr", Some(Algorithm::French), FRENCH),
    ("it", Some(Algorithm::Italian), ITALIAN),
    ("pt", Some(Algorithm::Portuguese), PORTUGUESE),
    ("nl", Some(Algorithm::Dutch), &[]),
    ("sv", Some(Algorithm::Swedish), &[]),
    ("da", Some(Algorithm::Danish), &[]),
    ("no", Some(Algorithm::Norwegian), &[]),
    ("fi", Some(Algorithm::Finnish), &[]),
    ("hu", Some(Algorithm::Hungarian), &[]),
    ("ro", Some(Algorithm::Romanian), &[]),
    ("ru", Some(Algorithm::Russian), &[]),
    ("tr", Some(Algorithm::Turkish), &[]),
    ("el", Some(Algorithm::Greek), &[]),
    ("ar", Some(Algorithm::Arabic), &[]),
    ("pl", None, &[]),
    ("cs", None, &[]),
    ("uk", None, &[]),
    ("he", None, &[]),
    ("hi", None, &[]),
    ("vi", None, &[]),
];

/// Days and times, which name no topic and stand in no list of stop words.
pub(in crate::embedded) const TIMES: &str = "montag dienstag mittwoch donnerstag freitag samstag sonntag heute morgen gestern abend uhr woche minuten stunden \
    lunes martes miércoles jueves viernes sábado domingo hoy mañana ayer noche tarde hora horas semana minutos \
    lundi mardi mercredi jeudi vendredi samedi dimanche aujourd'hui demain hier matin soir heure heures semaine minutes \
    lunedì martedì mercoledì giovedì venerdì sabato domenica oggi domani ieri mattina sera ora ore settimana \
    segunda terça quarta quinta sexta amanhã ontem manhã noite semana";

const GERMAN: &[Topic] = &[
    (
        Health,
        "arzt ärztin zahnarzt krankenhaus klinik schmerz schmerzen medikament tablette termin rezept apotheke impfung fieber husten operation gesundheit praxis allergie therapie",
    ),
    (
        Finance,
        "bank konto kredit zinsen steuer steuern rechnung versicherung gehalt sparen aktien schulden rente überweisung",
    ),
    (Legal, "anwalt gericht vertrag klage gesetz urteil richter notar kündigung"),
    (
        Technology,
        "software server datenbank rechner computer handy programm fehler netzwerk internet passwort update webseite drucker",
    ),
    (
        Education,
        "schule universität uni prüfung vorlesung lehrer lehrerin schüler student studium hausaufgaben klausur unterricht klasse seminar",
    ),
    (Sports, "spiel mannschaft trainer tor training verein fußball turnier lauf liga"),
    (Music, "musik lied konzert gitarre klavier chor probe sänger band orchester"),
    (Travel, "reise flug flughafen hotel zug bahn koffer urlaub pass ferien strand ausflug fähre"),
    (Real, "wohnung miete vermieter haus mieter umzug makler heizung dach keller nebenkosten"),
    (Weather, "wetter regen schnee sturm sonne gewitter temperatur wind frost"),
    (Politics, "wahl wahlen partei regierung minister parlament bundestag bürgermeister politik"),
    (Entertainment, "film serie kino theater spiel fernsehen schauspieler"),
    (
        Work,
        "arbeit projekt besprechung kunde kunden chef kollege kollegin büro angebot bericht team frist budget lieferant präsentation bewerbung auftrag",
    ),
    (
        Family,
        "mutter vater mama papa eltern schwester bruder oma opa großmutter großvater tante onkel sohn tochter kind kinder familie kindergarten",
    ),
    (Social, "freund freunde freundin feier party geburtstag einladung nachbar essen grillen"),
    (Personal, "einkaufen garten hund katze putzen wäsche kochen auto haushalt küche"),
];

const SPANISH: &[Topic] = &[
    (
        Health,
        "médico médica doctor doctora hospital clínica dolor medicina pastilla pastillas cita receta farmacia vacuna fiebre tos operación salud enfermera alergia dentista rodilla",
    ),
    (
        Finance,
        "banco cuenta préstamo hipoteca impuesto impuestos factura seguro sueldo ahorro ahorros deuda inversión",
    ),
    (Legal, "abogado abogada juez tribunal demanda ley sentencia notario"),
    (
        Technology,
        "programa servidor base datos ordenador computadora móvil red internet contraseña error aplicación página",
    ),
    (
        Education,
        "escuela colegio universidad examen clase profesor profesora alumno estudiante deberes curso nota",
    ),
    (Sports, "partido equipo entrenador gol entrenamiento fútbol torneo liga carrera"),
    (Music, "música canción concierto guitarra piano coro ensayo cantante banda"),
    (Travel, "viaje vuelo aeropuerto hotel tren maleta vacaciones pasaporte playa billete"),
    (Real, "piso alquiler casero casa mudanza vivienda inquilino calefacción tejado"),
    (Weather, "tiempo lluvia nieve tormenta sol temperatura viento"),
    (Politics, "elecciones partido gobierno ministro parlamento alcalde política voto"),
    (Entertainment, "película serie cine teatro televisión actor actriz"),
    (
        Work,
        "trabajo proyecto reunión cliente jefe jefa compañero oficina propuesta informe equipo plazo presupuesto proveedor ventas precio departamento contrato",
    ),
    (
        Family,
        "madre padre mamá papá padres hermana hermano abuela abuelo tía tío hijo hija hijos niño niños familia",
    ),
    (Social, "amigo amigos amiga fiesta cumpleaños invitación vecino cena"),
    (Personal, "compra compras jardín perro gato limpiar ropa cocinar coche cocina"),
];

const FRENCH: &[Topic] = &[
    (
        Health,
        "médecin docteur hôpital clinique douleur médicament ordonnance pharmacie vaccin fièvre toux opération santé dentiste allergie",
    ),
    (Finance, "banque compte prêt crédit impôt impôts facture assurance salaire épargne dette"),
    (Legal, "avocat avocate juge tribunal procès loi notaire"),
    (
        Technology,
        "logiciel serveur données ordinateur téléphone réseau internet erreur application site programme",
    ),
    (Education, "école université examen cours professeur élève étudiant devoirs classe"),
    (Sports, "match équipe entraîneur but entraînement football tournoi course"),
    (Music, "musique chanson concert guitare piano chœur répétition chanteur"),
    (Travel, "voyage vol aéroport hôtel train valise vacances passeport plage billet"),
    (Real, "appartement loyer propriétaire maison déménagement locataire chauffage toit"),
    (Weather, "météo pluie neige orage soleil température vent"),
    (Politics, "élection élections parti gouvernement ministre parlement maire politique vote"),
    (Entertainment, "film série cinéma théâtre télévision acteur"),
    (
        Work,
        "travail projet réunion client chef collègue bureau proposition rapport équipe délai budget fournisseur contrat",
    ),
    (
        Family,
        "mère père maman papa parents sœur frère grand-mère grand-père tante oncle fils fille enfant enfants famille",
    ),
    (Social, "ami amis amie fête anniversaire invitation voisin dîner"),
    (Personal, "courses jardin chien chat ménage lessive cuisine voiture"),
];

const ITALIAN: &[Topic] = &[
    (
        Health,
        "medico dottore dottoressa ospedale dolore medicina ricetta farmacia vaccino febbre tosse operazione salute dentista",
    ),
    (Finance, "banca conto prestito mutuo tasse fattura assicurazione stipendio risparmi debito"),
    (Technology, "programma server dati computer telefono rete internet errore applicazione sito"),
    (Education, "scuola università esame lezione professore professoressa studente compiti classe"),
    (Sports, "partita squadra allenatore gol allenamento calcio torneo gara"),
    (Music, "musica canzone concerto chitarra pianoforte coro prova cantante"),
    (Travel, "viaggio volo aeroporto albergo treno valigia vacanza vacanze passaporto spiaggia biglietto"),
    (Real, "appartamento affitto proprietario casa trasloco inquilino riscaldamento tetto"),
    (
        Work,
        "lavoro progetto riunione cliente capo collega ufficio proposta relazione scadenza bilancio fornitore contratto",
    ),
    (
        Family,
        "madre padre mamma papà genitori sorella fratello nonna nonno zia zio figlio figlia bambini famiglia",
    ),
    (Social, "amico amici amica festa compleanno invito vicino cena"),
    (Personal, "spesa giardino cane gatto pulizie bucato cucina macchina"),
];

const PORTUGUESE: &[Topic] = &[
    (
        Health,
        "médico médica hospital clínica dor remédio receita farmácia vacina febre tosse cirurgia saúde dentista consulta",
    ),
    (Finance, "banco conta empréstimo imposto impostos fatura seguro salário poupança dívida"),
    (Technology, "programa servidor dados computador telemóvel celular rede internet erro aplicativo site"),
    (Education, "escola universidade exame prova aula professor professora aluno estudante curso"),
    (Sports, "jogo equipa equipe treinador gol golo treino futebol torneio corrida"),
    (Music, "música canção concerto guitarra piano coro ensaio cantor banda"),
    (Travel, "viagem voo aeroporto hotel comboio trem mala férias passaporte praia bilhete"),
    (Real, "apartamento aluguel renda senhorio casa mudança inquilino telhado"),
    (
        Work,
        "trabalho projeto reunião cliente chefe colega escritório proposta relatório prazo orçamento fornecedor contrato",
    ),
    (Family, "mãe pai pais irmã irmão avó avô tia tio filho filha filhos crianças família"),
    (Social, "amigo amigos amiga festa aniversário convite vizinho jantar"),
    (Personal, "compras jardim cachorro cão gato limpeza roupa cozinha carro"),
];
