// The sound checkpoints that mutation starts from: the models that ship and the golden ones, one for each supported class.

import { copyFileSync, cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { root } from '../setup/packages.mjs';
import { readJson } from './python-json.mjs';

const golden = (path) => join(root, 'test/golden', path);
const image = (path) => golden(`image/checkpoints/${path}`);
const pipeline = (name, size = 64) => ({ kind: 'image', size, from: image(name) });
/** A pipeline of a golden, with the components that it takes from other checkpoints. */
function composed(name) {
  const { checkpoint, components } = readJson(golden(`image/${name}/case.json`));
  const elsewhere = Object.entries(components).map(([part, path]) => [part, golden(`image/${path}`)]);
  return {
    kind: 'image',
    size: 32,
    from: golden(`image/${checkpoint}`),
    options: { componentPaths: Object.fromEntries(elsewhere) },
    request: { maxSequenceLength: 60 },
  };
}
/** A part that is given beside a model. */
const beside = (path, options, request) => ({ kind: 'image', size: 32, from: image(path), options, request });
/** Drawn in the size that is asked for, and not in one of training. */
const UNBINNED = { maxSequenceLength: 20, kwargs: { use_resolution_binning: false } };
const CLIP = { frames: 5, maxSequenceLength: 20 };
const clips = (name) => ({ ...pipeline(name, 32), request: CLIP });
const goldenText = (name) => ({ kind: 'text', from: golden(name), addsTokenizer: true });
const embedding = (name) => ({ kind: 'embedding', from: golden(`embedding/${name}`) });

/**
 * `only`: the only folder whose files are mutated, if the other folders have bases of their own. `options` open an image model beside or in
 * place of its folder; paths that begin with @/ are in the mutant's folder.
 */
export const BASES = {
  'svc-chat-mini': { kind: 'text', from: join(root, 'models/svc-chat-mini') },
  llama: goldenText('llama'),
  mistral: goldenText('mistral'),
  qwen2: goldenText('qwen2'),
  qwen3: goldenText('qwen3'),
  'qwen3-moe': goldenText('qwen3-moe'),
  olmoe: goldenText('olmoe'),
  lora: { ...goldenText('llama'), adapter: golden('lora/llama-all'), only: 'adapter' },
  bert: embedding('bert'),
  roberta: embedding('roberta'),
  'qwen3-embedding': embedding('qwen3'),
  sd1: pipeline('sd1'),
  sd2: pipeline('sd2'),
  sdxl: pipeline('sdxl'),
  'z-image': pipeline('z-image'),
  'qwen-image': pipeline('qwen-image'),
  flux: composed('pipeline-flux'),
  sd3: composed('pipeline-sd3'),
  'flux2-klein': { ...composed('pipeline-flux2-klein'), request: { maxSequenceLength: 24 } },
  chroma: composed('pipeline-chroma'),
  sana: { ...composed('pipeline-sana'), size: 64, request: UNBINNED },
  pixart: { ...composed('pipeline-pixart'), size: 48, request: UNBINNED },
  lumina2: pipeline('lumina2', 32),
  wan: clips('wan'),
  'wan-image': { ...composed('pipeline-wan-image'), request: { ...CLIP, images: true } },
  'wan-experts': { ...composed('pipeline-wan-experts'), request: CLIP },
  ltx: clips('ltx'),
  controlnet: beside(
    'controlnet-sd1',
    { model: image('sd1'), controlnetPath: ['@/'] },
    { controlImages: true },
  ),
  'image-encoder': beside(
    'image-encoder',
    {
      model: image('sd1'),
      ipAdapterPath: image('ip-adapters/sd1.safetensors'),
      componentPaths: { image_encoder: '@/' },
    },
    { ipAdapterImage: true },
  ),
  'svc-scenes-mini': { kind: 'image', size: 64, from: join(root, 'models/svc-scenes-mini') },
};

const isPartOfModel = (path) => !/^(pictures|README\.md|embeddings\.json)$/.test(basename(path));

/** Copies a base to `folder`, which does not exist yet. */
export function writeBase(base, folder) {
  cpSync(base.from, folder, { recursive: true, filter: isPartOfModel });
  if (base.addsTokenizer) writeTokenizer(folder);
  if (base.adapter) cpSync(base.adapter, join(folder, 'adapter'), { recursive: true });
}

/** Paths of the files that may be mutated, relative to `folder` and with `/`, in a fixed order. */
export function filesOf(base, folder) {
  const from = base.only ? join(folder, base.only) : folder;
  return readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      relative(folder, join(entry.parentPath ?? entry.path, entry.name))
        .split(sep)
        .join('/'),
    )
    .filter((path) => !/\.(txt|md)$/.test(path) || path.endsWith('merges.txt'))
    .toSorted();
}

/** Copies one file over another, whose folder need not exist. */
export function copyOver(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

const TEMPLATE =
  '{%- for m in messages -%}<{{ m.role }}>{{ m.content }}{%- endfor -%}{%- if add_generation_prompt -%}<assistant>{%- endif -%}';

/** A token for each byte, a few merges and two special tokens: fits every golden language model. */
function writeTokenizer(folder) {
  const bytes = Array.from({ length: 256 }, (_, byte) => standIn(byte));
  const merges = [
    ['h', 'e'],
    ['l', 'l'],
    ['he', 'll'],
    ['Ġ', 't'],
  ];
  const tokens = [...bytes, ...merges.map((pair) => pair.join(''))];
  const level = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: true };
  const added = ['<|end|>', '<|begin|>'].map((content, i) => ({
    id: tokens.length + i,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: level,
    post_processor: {
      type: 'TemplateProcessing',
      single: [{ SpecialToken: { id: '<|begin|>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
      pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
      special_tokens: { '<|begin|>': { id: '<|begin|>', ids: [tokens.length + 1], tokens: ['<|begin|>'] } },
    },
    decoder: level,
    model: { type: 'BPE', vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges },
  };
  const config = { bos_token: '<|begin|>', eos_token: '<|end|>', chat_template: TEMPLATE };
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config, null, 2));
  const generation = { do_sample: true, temperature: 0.8, top_p: 0.9, top_k: 40, eos_token_id: 256 };
  writeFileSync(join(folder, 'generation_config.json'), JSON.stringify(generation, null, 2));
}

/** The character that stands for a byte in byte-level vocabularies. */
function standIn(byte) {
  const isPrintable = (b) => (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b !== 0xad);
  if (isPrintable(byte)) return String.fromCharCode(byte);
  const before = Array.from({ length: byte }, (_, b) => b).filter((b) => !isPrintable(b)).length;
  return String.fromCharCode(0x100 + before);
}
