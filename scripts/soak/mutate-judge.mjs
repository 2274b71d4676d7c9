// Judges the outcome of a mutated checkpoint: a refusal that tells the remedy, a harmless change, or a defect.

import { basename } from 'node:path';
import { isReal, REALS } from '../../dist/models/config-bounds.js';

/** Codes that blame a checkpoint. A broken template stops conversations alone: they are refused as requests. */
const CODES = new Set([
  'bad_checkpoint',
  'unsupported',
  'model_not_found',
  'out_of_memory',
  'context_length_exceeded',
]);
const LONGEST = 1000;
/** Largest difference between two outputs that are the same: of a log probability or a vector's value, of a pixel's byte. */
const TOLERANCE = { text: 2e-3, embedding: 1e-3, image: 2 };
/** The tolerance where weights are stored in another format: keys and values are kept in f32 beside f32 weights. */
const ROUNDED = { text: 2e-2, embedding: 1e-2, image: 6 };

/** Words that no message may have: it is for people who have the files before them. */
const OUR_WORDS =
  /internal|undefined|\[object |TypeError|RangeError|SyntaxError|is not a function|not iterable|Cannot (read|convert|destructure)|Maximum call stack|\n\s+at /;

/**
 * Changes of a sound value for another sound one, beside those of `isSound`: outputs may differ. `value` is the JSON text; `kind`: of
 * checkpoints, all where it is left out.
 */
const SOUND = [
  { key: /^(temperature|top_p|repetition_penalty)$/, value: /^(0\.5|1)$/ },
  { key: /^top_k$/, value: /^(-1|0|1|1e9)$/ },
  { key: /(^|\.)(sliding_window|num_experts_per_tok|max_window_layers|eos_token_id)$/, value: /^(0|1)$/ },
  { key: /^(lora_alpha|alpha_pattern.*)$/, value: /^(-1|0|1|0\.5)$/ },
  { key: /^(steps_offset|max_shift|base_shift)$/, value: /^(0|1|0\.5)$/ },
  { key: /^norm_num_groups$/, value: /^1$/ },
  { key: /act|prediction_type|timestep_spacing/, value: /^"silu"$/ },
  // Texts that are tokens, or names that nobody has to know.
  { kind: 'image', key: /_token/, value: /^"/ },
];

/** Returns `{ verdict, why }`; a verdict that begins with a capital letter is a defect. */
export function judge({ base, mutant, sound, result }) {
  if (result.failed)
    return { verdict: { hang: 'HANG', crash: 'CRASH', memory: 'MEMORY' }[result.failed], why: result.why };
  if (result.error) return refusal(mutant, result.error);
  const chat = result.output.chat?.error;
  if (chat && !sound.output.chat.error) return refusal(mutant, chat, ['bad_request']);
  const difference = differs(base, sound.output, result.output, mutant);
  const isNoted = result.output.notes?.some((note) => tells(note, mutant, sound.output.notes));
  if (difference === null) return { verdict: 'harmless', why: '' };
  if (!mutant.isLegal && (isNoted || isSound(base, mutant))) return { verdict: 'sound', why: difference };
  return { verdict: 'DIFFERENT', why: difference };
}

/** Whether a note names a file that the engine ignored, or says which parts of a damaged file it left out. */
function tells(note, { file }, before = []) {
  const name = basename(file);
  return note.includes(`${name} is not`) || (!before.includes(note) && note.includes(name));
}

function refusal(mutant, error, more = []) {
  const { isOurs, code, message } = error;
  const bad = (why) => ({ verdict: 'BAD REFUSAL', why: `${why}: ${code}: ${message.slice(0, 700)}` });
  if (!isOurs) return bad('not an error of ours');
  if (mutant.isLegal) return { verdict: 'REFUSED', why: `${code}: ${message.slice(0, 700)}` };
  // A file that an option names may be of another kind than the option is for.
  const isGiven = code === 'bad_request' && message.includes(basename(mutant.file));
  if (!CODES.has(code) && !more.includes(code) && !isGiven) return bad('its code blames no checkpoint');
  if (message.length > LONGEST) return bad(`${message.length} characters`);
  // A template's own reason may be that a name is undefined.
  const said = mutant.isTemplate ? message.replace(/'\w+' is undefined/, '') : message;
  const words = OUR_WORDS.exec(said.replaceAll(mutant.key ?? '\0', ''));
  if (words) return bad(`it says ${JSON.stringify(words[0])}`);
  // A sound setting may make a text too long for the context.
  const isTooLong = mutant.isSound && code === 'context_length_exceeded';
  if (!isTooLong && !names(mutant).some((name) => message.includes(name)))
    return bad(`it names none of ${names(mutant).join(', ')}`);
  return { verdict: 'refused', why: `${code}: ${message}` };
}

/** Any of which leads to the damage. */
function names({ file, key = '', isRemoved = false, isName = false }) {
  const isTemplate = /tokenizer_config|chat_template/.test(file);
  const isClass = /^(architectures|_class_name)/.test(key);
  const folder = file.includes('/') ? file.split('/')[0] : null;
  return [
    basename(file),
    ...key.split('.').filter((part) => !/^\d+$/.test(part)),
    folder,
    isTemplate && 'template',
    // Of flipped bits it is not known whose name they are.
    isName && !key && 'tensor ',
    isClass && 'architecture',
    isClass && 'is of class',
    // A folder whose configuration is gone is read as the file of weights that it holds.
    isRemoved && file === 'config.json' && 'holds no ',
    file === 'model_index.json' && 'is a pipeline',
  ].filter(Boolean);
}

function isSound({ kind, namesAreWords }, mutant) {
  const { file, key = '', value = '', was } = mutant;
  if (namesAreWords && mutant.isName) return true;
  // A file or key that may be left out counts as left out, null does too, and a shorter list of merges is one.
  if (mutant.isSound || mutant.isRemoved || value === 'null' || (mutant.isCut && file.endsWith('merges.txt')))
    return true;
  const bounds = Object.hasOwn(REALS, key.split('.').at(-1)) ? REALS[key.split('.').at(-1)] : null;
  if (bounds && typeof was === 'number' && isReal(toNumber(value), bounds)) return true;
  if (typeof was === 'boolean' && /^(true|false)$/.test(value)) return true;
  return SOUND.some((row) => (row.kind ?? kind) === kind && row.key.test(key) && row.value.test(value));
}

/** NaN for what is not a number in JSON. */
const toNumber = (text) => (/^-?[\d.]+(e[-+]?\d+)?$/.test(text) ? Number(text) : NaN);

/** The first part that differs, in words; null where none does. */
function differs({ kind }, sound, other, { keepsGreedyOnly, isTemplate, isRounded, key = '', value = '' }) {
  // Any text is a template.
  const isOtherTemplate = isTemplate || (key.startsWith('chat_template') && value.startsWith('"'));
  for (const part of Object.keys(sound)) {
    if (part === 'notes') continue;
    if (keepsGreedyOnly && part.startsWith('sampl')) continue;
    if ((isRounded && part === 'sampled') || (isOtherTemplate && part === 'chat')) continue;
    const [expected, got] = [sound[part], other[part]];
    if (JSON.stringify({ ...expected, numbers: 0 }) !== JSON.stringify({ ...got, numbers: 0 }))
      return `${part}: ${JSON.stringify(got).slice(0, 150)}, the base's is ${JSON.stringify(expected).slice(0, 150)}`;
    const worst = farthest(expected.numbers ?? [], got.numbers ?? []);
    if (!(worst <= (isRounded ? ROUNDED : TOLERANCE)[kind])) return `${part}: a number is off by ${worst}`;
  }
  return null;
}

function farthest(a, b) {
  if (a.length !== b.length) return Infinity;
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
}
