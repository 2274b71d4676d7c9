// The words of the source that a newcomer could take for something else, each with the one thing that it names here, and words that are not
// used. scripts/check-words.mjs enforces it.

/**
 * Nouns with one meaning. `not`: another noun that a reader might look for, and does not find here. `refused`: text that breaks the rule, in
 * the files whose path below src/ matches `within` (left out: everywhere).
 */
export const GLOSSARY = [
  {
    noun: 'adapter',
    means: 'a GPU, or a driver that computes like one, as WebGPU offers it',
    not: 'a LoRA',
    refused: /(?<!(?:IP|T2I)-?)(?<![\w.$/'-])adapters?(?![\w.:/]|-\w)/i,
    within:
      /^(?:files\/(?:lora|gguf|checkpoint|tensors)|engine\/(?:text|image)\/lora|engine\/image\/layouts)\/|^kernels\/lora-/,
    remedy: 'here it can only be a LoRA: say LoRA',
  },
  {
    noun: 'LoRA',
    means:
      'factors that change the weights of a model: LoRA itself, LoHa, LoKr and DoRA; PEFT calls them adapters',
  },
  {
    noun: 'schedule',
    means: 'the noise levels of an image and the updates between them; diffusers calls it scheduler',
  },
  {
    noun: 'scheduler',
    means: 'what decides which rows of which sequences the next step of a text model computes',
  },
  { noun: 'step plan', means: 'the rows that a scheduler chose for one step of a text model' },
  { noun: 'memory plan', means: 'what a model takes on a device, and the changes that make it fit' },
  {
    noun: 'sequence',
    means: 'one reply that is being computed: its tokens, its KV pages, its place in the queue',
  },
  { noun: 'row', means: 'one token of one sequence in a step' },
  {
    noun: 'page',
    means: 'the KV of 32 tokens; a web page; or the code of a model (models/), which reads like one',
  },
  { noun: 'component', means: 'a model within a pipeline, as model_index.json names it: transformer, vae' },
  {
    noun: 'family',
    means: 'pipelines that share one way from prompt to latents, or models that share one layer',
  },
  { noun: 'kind', means: 'text, embedding or image: what a model is asked for' },
  {
    noun: 'image',
    means: 'pixels, whether they were drawn, sent or shipped',
    not: 'picture',
    refused: /\bpictures?\b(?! \$|\/)/i,
    except: /^(?:engine\/image\/families\/qwen-image\/|files\/template\/)/,
    remedy: 'say image',
  },
];

/** Words that no reader would search for, with what is said in their place. */
export const REFUSED = [
  {
    word: /\b(?:is|are|was|were) no (?=[a-z]+ (?:of|that|in|for)\b)(?<!there (?:is|are|was|were) no )(?!longer|more|less|such|room|limit)/i,
    say: 'is not a …',
  },
  { word: /\btold by\b|\btoldBy\w*/, say: 'defaultsFrom, or what the defaults come from' },
  { word: /\blobby\w*/i, say: 'wait queue' },
  { word: /\bdoz(?:e|es|ing)\b/i, say: 'sleep' },
  { word: /\bforgo(?:es|ing|ne)?\b/i, say: 'skip' },
  { word: /\bbesides\b/i, say: 'beside, also, extra' },
  { word: /\bsayings?\b/i, say: 'literals, texts' },
  { word: /\bwhoever\b/i, say: 'the noun that is meant' },
];

/** Exported types that say nothing alone: each takes the noun of what it is a part, a plan or a result of. */
export const BARE = /^(?:Parts?|Plan|Planned|Drawing|Info|Data|Item|Thing|Manager|Helper|Utils?)$/;
