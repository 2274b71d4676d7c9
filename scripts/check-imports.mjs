// The house rules that a compiler does not know: which room may import what, that no file imports itself by way of others, and which
// words belong to one room.
//   node scripts/check-imports.mjs        prints file:line for each breach; exit code 1 if there is one

import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const OPEN_NAMES = ['error', 'message', 'bytes-text', 'count-text', 'media-nouns'];
const OPEN = new Set(OPEN_NAMES.map((name) => `files/${name}.ts`));

const SOUNDS = ['mp3', 'flac', 'vorbis', 'opus'].map((codec) => `@audio/decode-${codec}`);

/**
 * Rooms under src/, top to bottom. `rooms`: imports of values, from a room or from one file of it; `types`: rooms only `import type` may reach; `packages`: from npm;
 * `node`: which of the room's files may import Node's own modules (true: all), and each other; `page`: which need a page or its worker;
 * the rest runs anywhere.
 * The files of OPEN, the words of errors, are open to every room that is not `closed`.
 */
export const ROOMS = {
  cli: {
    does: 'argv in, exit code out',
    rooms: ['index.ts', 'options', 'server/entry.ts'],
    packages: ['citty', 'consola', 'yaml'],
    node: true,
  },
  server: {
    does: 'Request in, Response out',
    rooms: ['index.ts', 'options', 'grammar'], // grammar: the Lark front end
    packages: ['h3', 'srvx', 'zod', 'consola', 'prom-client', 'lru-cache'],
    node: true,
  },
  'index.ts': {
    does: 'the public face; nothing else is public',
    rooms: ['model-types.ts', 'host', 'engine', 'files', 'gpu', 'options'],
  },
  'model-types.ts': { does: 'the types of both faces', rooms: [], types: ['host', 'engine', 'files', 'gpu'] },
  'browser.ts': {
    does: 'the public face in a page',
    rooms: ['model-types.ts', 'host', 'engine', 'files'],
    page: true,
  },
  host: {
    does: "a model's life: one value a kind of model; open, lose, reopen, sleep, close, plan, threads",
    rooms: ['model-types.ts', 'engine', 'files', 'gpu', 'options'],
    packages: ['electron'],
    node: [
      /^node\//,
      /^electron\/(main|open-main|continuing-model|shared-models|windows|engine|electron|model-files|served-files|weights-origin)\.ts$/,
    ],
    page: [
      /^page\//,
      /^electron\/(page|worker|text-worker|worker-files|preload|engine-preload|window-calls|window-face)\.ts$/,
    ],
  },
  engine: {
    does: 'loops, waiting and time',
    rooms: ['models', 'kernels', 'files', 'gpu', 'grammar', 'options'],
    packages: ['lru-cache'],
  },
  options: { does: 'every setting once: name, kind, bounds, default, help', rooms: [], closed: true },
  models: {
    does: 'tensors in, tensors out; what processors make of media',
    rooms: ['kernels', 'files/image/resample.ts'],
    types: ['gpu', 'files'],
  },
  kernels: { does: 'one launcher a shader', rooms: ['gpu'] },
  gpu: {
    does: 'device, tensor, tape, arena, linker',
    rooms: [],
    packages: ['webgpu'],
    node: [/^node\.ts$/, /^free-memory\.ts$/, /^native-library\.ts$/, /^vulkan-cache\.ts$/],
    page: [/^browser(-adapters)?\.ts$/],
  },
  grammar: {
    does: 'constraints of texts into automata and token masks; no GPU, no HTTP',
    rooms: [],
    closed: true, // an error of its own, which the engine translates
  },
  files: {
    does: 'bytes to values and back; no GPU, knows nothing above',
    rooms: [],
    packages: ['@huggingface/tokenizers', 'sharp', 'ioredis', ...SOUNDS],
    node: [
      /^(cache-folder|shipped|source-disk|tuned-file)\.ts$/,
      /^hub\/(hub|hub-disk|hub-env|hub-folder|hub-list|hub-local|hub-lock|modelhub)\.ts$/,
      /^checkpoint\/(quantized-cache|shard-folder|weights-identity)\.ts$/,
      /^pages\/(page-store-.*|stored-page)\.ts$/,
      /^image\/image\.ts$/,
      /^media\/(read-image|read-animation|read-container|read-video|read-sound|sound-container|container|decoders-node)\.ts$/,
    ],
    page: [/^page\//, /^opfs\//],
  },
};

/** The contents of each folder, one sentence per folder. */
export const FOLDERS = {
  'server/body': 'the bytes of a request into values: bounds, lists, members nobody knows',
  'server/text': 'what interfaces to text models share: sampling fields, events as replies, streams',
  'server/chat': 'chat completions',
  'server/completions': 'completions',
  'server/responses': "OpenAI's responses, with the tools of coding agents",
  'server/anthropic': "Anthropic's messages",
  'server/ollama': "Ollama's routes",
  'server/tokens': 'texts as ids and as vectors: tokenize, embeddings',
  'server/images': 'images: generations, edits, where they are stored',
  'server/media': 'the media that requests name: fetched safely, bounded, as bytes',
  'server/admin': 'the server about itself: health, metrics, caches, LoRA adapters',
  'server/docs': '/openapi.json and /docs, from the tables that check requests',
  'host/node': 'what starts the engine in Node: its disk, its device, its worker threads',
  'host/page': "what starts the engine in a page: the page's files and storage, its workers",
  'host/electron': "Electron's main process and preload scripts: the face of an engine in a hidden window",
  'engine/weights': 'readers of weight requests: check, plan, place, pack, cache, adapt',
  'engine/check': 'kernels of an adapter against their plain forms, family by family',
  'engine/plan': 'what a model would take, from its configuration and the headers of its files',
  'engine/tuning': 'kernels compiled ahead, and the fastest of equal variants for a model and an adapter',
  'engine/opening': 'what opening any model needs: classes, files, events of its progress',
  'engine/input': 'values that callers pass: their checks',
  'engine/platform': 'what a starter provides: disk, device, threads, the tokenizer beside the engine',
  'engine/async': 'promises, queues of events and of callers, aborting',
  'engine/text': 'opening and serving a language model',
  'engine/text/request': 'messages and media into sequences',
  'engine/text/threads': "grammars compiled and long texts tokenized beside the engine's thread",
  'engine/text/run': 'scheduler, the loop that submits steps, sequences and their events',
  'engine/text/cache': 'KV pages, the tree of prefixes, the tiers below the device',
  'engine/text/step': "a step on the device: its rows' buffers, its tapes, what is read back",
  'engine/text/media': 'images, videos and sounds in prompts: read, placed, computed by towers',
  'engine/text/output': 'what tokens mean: reasoning, tool calls, answers, by the tables of their formats',
  'engine/text/lora': 'LoRA of language models: folders, names, matrices beside the weights',
  'engine/text/calls': 'what is asked of a language model and what it answers',
  'engine/embedding': 'texts in, vectors out',
  'engine/image': 'opening and serving a pipeline of images',
  'engine/image/request': 'every value of an image decided and checked before anything is read',
  'engine/image/stages': 'stages of an image, noise, events, previews',
  'engine/image/families': 'the families that are built, and those that are refused by name',
  'engine/image/blocks': 'what families are built of: declaration, text encoders, denoisers of transformers',
  'engine/image/components': 'components of a pipeline coming and going: files, formats, residency',
  'engine/image/recording': "tapes of a pipeline's stages, scopes, the denoising step",
  'engine/image/lora': 'LoRA of pipelines: files, names, matrices beside or merged',
  'engine/image/layouts':
    'layouts of models in one file: names of their tensors, configurations by shapes, what shapes do not tell',
  'engine/image/schedules': 'noise schedules: numbers in, numbers out',
  'engine/image/calls': 'what is asked of a pipeline and what it answers',
  'models/text': 'language models and text encoders, a folder a family: their configurations, their pages',
  'models/text/blocks': 'what language models share: decoder, attention, experts, rotations',
  'models/image': 'denoisers: their configurations, their pages',
  'models/image/autoencoders': 'autoencoders: their configurations, their pages',
  'models/image/unet': 'the UNet, what steers it: ControlNet, IP-Adapter',
  'models/vision': 'vision towers: their configurations, what they are given of an image, their pages',
  'models/vision/qwen': "Qwen's towers of images and videos",
  'models/vision/internvl': 'InternVL',
  'models/towers': 'the towers by the model types that name them',
  'models/audio': 'encoders of sounds: their configurations, what they are given of a sound, their pages',
  'grammar/schema': 'JSON Schema as a grammar',
  'grammar/lark': 'Lark grammars, and expressions of Python and Rust, as regular expressions',
  'grammar/stops': 'stop strings and stop expressions as automata over characters',
  'files/hub': 'the model hubs: names, lists, downloads, their cache on disk',
  'files/coded': 'weights that several tensors hold together: the quantization methods of other programs',
  'files/checkpoint': 'weights and their configuration: safetensors, shards, adapters, packed copies',
  'files/lora':
    'adapters of image models: names of their tensors, their factors, the tensors that they change',
  'files/gguf': 'GGUF files: header, metadata as configuration and tokenizer, tensors by name',
  'files/pipeline': 'pipelines of diffusers: their index, their components',
  'files/tokenizer': 'texts into ids and back',
  'files/tokenizer/encode':
    'texts into ids: the normalizers, pre-tokenizers, models and post-processors of tokenizer.json',
  'files/template': 'chat templates',
  'files/template/jinja': "Jinja with Python's semantics: source to syntax tree to text, bounded",
  'files/pages': 'KV pages in files and in Redis',
  'files/opfs':
    "a browser's private file system: models of the hub, packed weights, tuned variants, and the room for them",
  'files/page': 'files of a page: those that a user picked, those that the page reads itself',
  'files/image': 'PNG, JPEG, WebP and what they carry',
  'files/media': 'images, videos and sounds as models read them: formats, bounds, pixels, frames, samples',
};

/** Folders whose folders are alike: one a family. Each does what its name says. */
const FAMILIES = new Set(['models/text', 'engine/image/families']);

/**
 * The storeys inside rooms: for a folder its folders from top to bottom, `.` for its own files. A file may import from its own storey and those
 * below it. Folders that are not in this table may import each other in one direction only.
 */
export const STOREYS = {
  host: ['electron', 'node', 'page', '.'],
  engine: [
    'embedding',
    'image',
    'text',
    'plan',
    'check',
    'weights',
    'tuning',
    'opening',
    'input',
    'platform',
    'async',
  ],
  'engine/text': ['.', 'request', 'threads', 'media', 'output', 'run', 'cache', 'step', 'lora', 'calls'],
  'engine/image': [
    '.',
    'request',
    'stages',
    'families',
    'lora',
    'blocks',
    'recording',
    'components',
    'layouts',
    'schedules',
    'calls',
  ],
};

/** Most files that lie loose in one folder; kernels/ is flat on purpose, one .ts per .wgsl. */
const MOST_LOOSE = 40;

/** Files that run or add shaders below kernels. */
const BELOW = ['gpu/adapter-probe.ts', 'gpu/linker.ts'];

/** Words that may occur in one room only. */
export const WORDS = [
  { word: /\bGPUDevice\b/, room: 'gpu', message: 'only gpu/ says GPUDevice' },
  { word: /[\w$]\.wgsl\b/, room: 'kernels', except: BELOW, message: 'only kernels/ names a shader' },
];

/** @param {Record<string, string>} sources path below src/ (with /) to text; @returns {string[]} breaches as `src/path:line message` */
export function checkImports(sources) {
  const breaches = Object.entries(sources).flatMap(([file, text]) => {
    const name = roomOf(file);
    if (!(name in ROOMS)) return [`src/${file}:1 is in no room: ${Object.keys(ROOMS).join(', ')}`];
    const folder = posix.dirname(file);
    if (folder.includes('/') && !(folder in FOLDERS) && !FAMILIES.has(posix.dirname(folder)))
      return [`src/${file}:1 is in a folder without a sentence: add ${folder} to FOLDERS`];
    const code = withoutComments(text);
    const found = [
      ...importsIn(code).map((found) => ({ at: found.at, message: breachOf(file, found) })),
      ...WORDS.filter(({ room, except }) => room !== name && !except?.includes(file)).flatMap(
        ({ word, message }) =>
          [...code.matchAll(new RegExp(word, 'g'))].map((match) => ({ at: match.index, message })),
      ),
    ];
    return found
      .filter(({ message }) => message !== null)
      .map(({ at, message }) => `src/${file}:${code.slice(0, at).split('\n').length} ${message}`);
  });
  return [...breaches, ...circlesIn(sources), ...storeysIn(sources), ...crowdedFolders(sources)];
}

/** Imports that go up a storey, and pairs of neighbouring storeys that import each other. */
function storeysIn(sources) {
  const edges = Object.entries(sources).flatMap(([file, text]) => {
    const code = withoutComments(text);
    return importsIn(code)
      .filter(({ target }) => target.startsWith('.'))
      .map(({ at, target }) => neighbours(file, posix.join(posix.dirname(file), target), code, at))
      .filter((edge) => edge !== null && edge.from !== edge.to);
  });
  const known = new Set(edges.map(({ parent, from, to }) => `${parent}: ${from} > ${to}`));
  return edges.flatMap(({ parent, from, to, path, line, file }) => {
    const order = STOREYS[parent];
    if (!order)
      return known.has(`${parent}: ${to} > ${from}`)
        ? [`src/${file}:${line} imports ${path}, and ${parent}/${to} imports ${parent}/${from}, too`]
        : [];
    const missing = [from, to].find((storey) => !order.includes(storey));
    if (missing) return [`src/${file}:${line}: ${parent}/${missing} is missing in STOREYS`];
    return order.indexOf(from) > order.indexOf(to)
      ? [`src/${file}:${line} imports ${path}: in ${parent}/, ${from} lies below ${to}`]
      : [];
  });
}

/** Returns the folder that holds both files and the storeys of it that they lie in, or null where they share no room. */
function neighbours(file, path, code, at) {
  const a = file.split('/');
  const b = path.split('/');
  let depth = 0;
  while (depth < a.length - 1 && depth < b.length - 1 && a[depth] === b[depth]) depth += 1;
  if (depth === 0) return null;
  const storey = (parts) => (parts.length - 1 > depth ? parts[depth] : '.');
  const line = code.slice(0, at).split('\n').length;
  return { parent: a.slice(0, depth).join('/'), from: storey(a), to: storey(b), path, line, file };
}

/** Folders with more loose files than a reader can hold. */
function crowdedFolders(sources) {
  const counts = new Map();
  for (const file of Object.keys(sources)) {
    const folder = posix.dirname(file);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([folder, count]) => count > MOST_LOOSE && folder !== 'kernels')
    .map(([folder, count]) => `src/${folder}/: ${count} loose files, at most ${MOST_LOOSE}`);
}

/**
 * Files that import each other in a circle, types included. For each import that leads back to its own file, the shortest circle over it
 * is reported, each circle once, at the file whose name comes first.
 */
function circlesIn(sources) {
  const imports = new Map(
    Object.entries(sources).map(([file, text]) => [
      file,
      importsIn(withoutComments(text))
        .filter(({ target }) => target.startsWith('.'))
        .map(({ target }) => posix.join(posix.dirname(file), target)),
    ]),
  );
  const circles = new Map();
  for (const start of [...imports.keys()].toSorted()) {
    for (const next of imports.get(start)) {
      const circle = fromFirstName(shortestCircle(start, next, imports));
      circles.set(circle.join(' '), circle);
    }
  }
  return [...circles.values()]
    .filter((circle) => circle.length > 0)
    .map(
      ([start, ...others]) =>
        `src/${start}:1 imports itself by way of ${others.join(', ') || 'nothing else'}`,
    );
}

/** Returns the circle with the file whose name comes first at its beginning. */
function fromFirstName(circle) {
  const first = circle.indexOf(circle.toSorted()[0]);
  return [...circle.slice(first), ...circle.slice(0, first)];
}

/** Returns the files of the shortest circle that begins with the import of `next` by `start`; an empty list if there is none. */
function shortestCircle(start, next, imports) {
  if (next === start) return [start];
  const paths = [[start, next]];
  const reached = new Set([next]);
  for (const path of paths) {
    for (const file of imports.get(path.at(-1)) ?? []) {
      if (file === start) return path;
      if (!reached.has(file)) paths.push([...path, file]);
      reached.add(file);
    }
  }
  return [];
}

function breachOf(file, { target, typeOnly }) {
  const name = roomOf(file);
  const room = ROOMS[name];
  if (target.startsWith('node:')) {
    return platformOf(file) === 'node'
      ? null
      : `imports ${target}: the core must also run where there is no Node`;
  }
  if (!target.startsWith('.')) {
    const known = room.packages?.some((name) => target === name || target.startsWith(`${name}/`));
    return known ? null : `imports the package ${target}, which ${name} does not use (${room.does})`;
  }
  const path = posix.join(posix.dirname(file), target);
  const other = roomOf(path);
  const platform = platformOf(path);
  const isFace = name === 'index.ts' || name === 'browser.ts' || other === 'cli' || other === 'server';
  if (!typeOnly && platform !== null && platform !== platformOf(file) && !isFace) {
    const needs = platform === 'node' ? 'Node' : 'a page';
    return `imports ${path}, which needs ${needs}: take it from the platform (engine/platform/platform.ts)`;
  }
  if (
    other === name ||
    (OPEN.has(path) && !room.closed) ||
    room.rooms.includes(other) ||
    room.rooms.includes(path)
  )
    return null;
  if (room.types?.includes(other))
    return typeOnly ? null : `may only \`import type\` from ${other} (${room.does})`;
  return `imports ${path}: ${name} (${room.does}) may import ${room.rooms.join(', ') || 'no other room'}`;
}

/** Returns where a file runs: 'node', 'page', or null for everywhere. */
function platformOf(file) {
  const { node, page } = ROOMS[roomOf(file)] ?? {};
  const inRoom = file.split('/').slice(1).join('/');
  const isOf = (files) => files === true || Boolean(files?.some((pattern) => pattern.test(inRoom)));
  if (isOf(node)) return 'node';
  return isOf(page) ? 'page' : null;
}

function roomOf(file) {
  return file.split('/')[0];
}

/** Static and dynamic imports and re-exports, with their place in the text. */
function importsIn(code) {
  const statements = /\b(import|export)\s+(type\s+)?(?:[\w*{][^'";]*?\sfrom\s*)?['"]([^'"\n]+)['"]/g;
  const calls = /\bimport\(\s*['"]([^'"\n]+)['"]/g;
  return [
    ...[...code.matchAll(statements)].map((m) => ({ at: m.index, target: m[3], typeOnly: Boolean(m[2]) })),
    ...[...code.matchAll(calls)].map((m) => ({ at: m.index, target: m[1], typeOnly: false })),
  ];
}

/** Returns the text with its comments blanked and line breaks kept. Strings are skipped, because a URL contains `//`. */
function withoutComments(text) {
  const token = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
  return text.replace(token, (found) => (found.startsWith('/') ? found.replace(/[^\n]/g, ' ') : found));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const src = fileURLToPath(new URL('../src/', import.meta.url));
  const files = readdirSync(src, { recursive: true }).filter((file) => file.endsWith('.ts'));
  const sources = files.map((file) => [file.split(sep).join('/'), readFileSync(join(src, file), 'utf8')]);
  const breaches = checkImports(Object.fromEntries(sources));
  for (const breach of breaches) console.error(breach);
  process.exitCode = breaches.length > 0 ? 1 : 0;
}
