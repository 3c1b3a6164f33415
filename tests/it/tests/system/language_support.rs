//! Languages that the built-in engine does not read for action items: the user and the operator are notified.

use serde_json::{Value, json};

use crate::binary;
use crate::process::Process;
use crate::world::{GARDEN, World};

const GERMAN: &[&str] = &[
    "Der Vermieter hat geschrieben, dass die Heizung am Montag repariert wird.",
    "Dann rufe ich ihn morgen an und frage, wann der Handwerker kommt.",
    "Und die Rechnung für den Keller müssen wir bis Freitag bezahlen.",
];
const SPANISH: &[&str] = &[
    "El médico dice que tengo que volver el jueves para otra prueba de la rodilla.",
    "Yo te llevo al hospital, pero tienes que pedir la cita mañana por la mañana.",
    "También hay que comprar las pastillas en la farmacia antes del viernes.",
];

/// The overview of `lines`, how many items they have, and the engine as operators see it.
async fn read(lines: &[&str]) -> (String, usize, Value) {
    let world = World::new().await;
    let process = Process::serve(&world.url, &[]).await;
    let client = world.client(&process);
    let id = client.admit(lines).await;
    assert_eq!(client.finished(&id).await["status"], "completed");
    let told = client.conversation(&id).await;
    let overview = told["structured"]["overview"].as_str().expect("an overview").to_owned();
    let items = told["structured"]["action_items"].as_array().expect("a list").len();
    let job = binary::the_job(&world.url);
    let job = job["job_id"].as_str().expect("a job has an id");
    let shown = binary::printed(&world.url, &["jobs", "show", job, "--json"]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["model_calls"], json!([]), "nobody was asked");
    (overview, items, shown["engine"].clone())
}

#[tokio::test]
async fn unsupported_language_overview_says_items_were_not_extracted() {
    let ((german, no_items, engine), (spanish, none, same_engine)) =
        tokio::join!(read(GERMAN), read(SPANISH));
    assert!(german.contains("Heizung"), "{german}");
    assert!(german.ends_with("wurden in dieser Sprache nicht gesucht."), "{german}");
    assert!(
        spanish.ends_with("En este idioma no se han buscado tareas, citas ni datos que recordar."),
        "{spanish}"
    );
    assert_eq!((no_items, none), (0, 0));
    assert_eq!((&engine, &same_engine), (&json!("embedded/23, items not read"), &engine));
}

#[tokio::test]
async fn supported_language_overview_has_no_such_notice() {
    let (overview, items, engine) = read(GARDEN).await;
    assert!(items > 0 && !overview.contains("not looked for"), "{items}: {overview}");
    assert_eq!(engine, "embedded/23");
}
