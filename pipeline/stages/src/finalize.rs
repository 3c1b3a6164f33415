//! The pipeline, top to bottom.

use futures::join;
use job::FailureCode;
use records::Talk;

use crate::{
    AppResult, Context, DescribePhotos, DescribeTalk, DetectDiscard, EmbedTalk, Embedding, Engines,
    ExtractActionItems, FindMemories, Interrupted, Items, Material, MemoryDraft, PhotoDescription,
    ReadContext, Run, Structure, Survey, SurveyTalk, TriggerApps, Verdict,
};

/// What became of a conversation. [`plan_fan_out`](crate::plan_fan_out) says what to tell of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Finalized {
    /// Not worth keeping.
    Discarded,
    /// Worth keeping, with what was made of it.
    Kept(Box<Kept>),
}

/// What the stages made of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Title, overview, category, emoji, events, folder.
    pub structure: Structure,
    /// New action items, and due dates for older ones.
    pub items: Items,
    /// New memories.
    pub memories: Vec<MemoryDraft>,
    /// The conversation's vector.
    pub embedding: Embedding,
    /// What the person's summarization apps made of it.
    pub apps: Vec<AppResult>,
    /// What is on its pictures.
    pub photos: Vec<PhotoDescription>,
}

/// The stages with their engines.
pub struct Stages {
    read_context: ReadContext,
    detect_discard: DetectDiscard,
    survey: Option<SurveyTalk>,
    describe: DescribeTalk,
    photos: DescribePhotos,
    extract_action_items: ExtractActionItems,
    extract_memories: FindMemories,
    embed: EmbedTalk,
    trigger_apps: TriggerApps,
}

impl Stages {
    /// The stages of one run, or of a whole process: they keep nothing between runs.
    pub fn new(engines: Engines) -> Self {
        Self {
            read_context: ReadContext::before(&engines),
            survey: SurveyTalk::before(&engines),
            detect_discard: DetectDiscard::new(engines.judge),
            photos: DescribePhotos::new(engines.describe.clone()),
            describe: DescribeTalk::new(engines.describe),
            extract_action_items: ExtractActionItems::new(engines.items, engines.same.clone()),
            extract_memories: FindMemories::new(engines.memories, engines.same),
            embed: EmbedTalk::new(engines.embed),
            trigger_apps: TriggerApps::new(engines.apps),
        }
    }
}

/// Finalizes one revision. `force_process` comes from the job: discard detection is skipped.
///
/// # Errors
/// When the run is interrupted; what was recorded until then stands, and the next run goes on from there.
pub async fn finalize(
    run: &Run<'_>,
    stages: &Stages,
    material: &Material,
    force_process: bool,
) -> Result<Finalized, Interrupted> {
    let context: Context = run.step(&stages.read_context, material).await?;
    let photos = see(run, stages, material).await?;
    let talk = &*material.talk_with(&photos);

    if !force_process && run.step(&stages.detect_discard, talk).await? == Verdict::Discard {
        return Ok(Finalized::Discarded);
    }
    if !has_content(talk) {
        return Err(FailureCode::NoContent.into());
    }

    // join!, not try_join!: when one fails, the others still record what they paid for.
    let ((structure, items, memories), embedding) =
        join!(read(run, stages, talk, &context), run.step(&stages.embed, talk));
    let interruptions =
        [structure.as_ref().err(), items.as_ref().err(), memories.as_ref().err(), embedding.as_ref().err()];
    if let Some(gravest) =
        interruptions.into_iter().flatten().rev().max_by_key(|interrupted| interrupted.weight())
    {
        return Err(*gravest);
    }
    let (structure, items, memories, embedding) = (structure?, items?, memories?, embedding?);

    let apps = run.step(&stages.trigger_apps, (talk, &structure, &context)).await?;
    Ok(Finalized::Kept(Box::new(Kept { structure, items, memories, embedding, apps, photos })))
}

/// Whether there is anything to keep: words, or a picture that was described.
fn has_content(talk: &Talk) -> bool {
    talk.has_words() || !talk.background.pictures.is_empty()
}

/// What is on the pictures, before anything else is read: the stages read it, too. They rest on the words, and on what was
/// seen when they ran: pictures that are described only in a later run make no stage run again. A failure fails no run that
/// has other content: that counts, and the pictures stay without a description.
async fn see(
    run: &Run<'_>,
    stages: &Stages,
    material: &Material,
) -> Result<Vec<PhotoDescription>, Interrupted> {
    match material.photos.as_slice() {
        [] => Ok(Vec::new()),
        photos => match run.step(&stages.photos, (photos, material.talk.language.as_str())).await {
            Err(Interrupted::Failed(_)) if has_content(&material.talk) => Ok(Vec::new()),
            seen => seen,
        },
    }
}

/// What the stages that read the whole talk made of it.
type Read =
    (Result<Structure, Interrupted>, Result<Items, Interrupted>, Result<Vec<MemoryDraft>, Interrupted>);

/// The three stages that read the whole talk, after the one reading that may answer for all of them.
async fn read(run: &Run<'_>, stages: &Stages, talk: &Talk, context: &Context) -> Read {
    let survey = match &stages.survey {
        // Pictures alone are described, and hold no tasks and no memories.
        Some(survey) if talk.has_words() => {
            match run.step(survey, (talk, context.folders.as_slice())).await {
                Ok(survey) => survey,
                Err(interrupted) => return (Err(interrupted), Err(interrupted), Err(interrupted)),
            }
        }
        _ => Survey::default(),
    };
    join!(
        run.step(&stages.describe, (talk, context.folders.as_slice(), survey.structure)),
        run.step(&stages.extract_action_items, (talk, context.recent_items.as_slice(), survey.items)),
        run.step(&stages.extract_memories, (talk, context.memories.as_slice(), survey.memories)),
    )
}
