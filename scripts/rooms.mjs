// The rooms of src/: what each does and what it may import. scripts/check-imports.mjs enforces it.

const OPEN_NAMES = ['error', 'message', 'openers', 'bytes-text', 'count-text', 'media/media-nouns'];
export const OPEN = new Set(OPEN_NAMES.map((name) => `files/${name}.ts`));

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
    packages: [
      'h3',
      'srvx',
      'zod',
      'consola',
      'prom-client',
      'lru-cache',
      '@opentelemetry/api',
      '@opentelemetry/sdk-node',
    ],
    node: true,
  },
  web: {
    does: 'the page that the server shows, built apart',
    rooms: ['options'],
    packages: ['preact', '@preact/signals', 'marked', 'dompurify', 'temml', 'highlight.js'],
    page: true,
  },
  'index.ts': {
    does: 'the public face; nothing else is public',
    rooms: ['model-types.ts', 'host', 'chat', 'engine', 'files', 'gpu', 'options'],
  },
  'model-types.ts': {
    does: 'the types of both faces',
    rooms: [],
    types: ['host', 'chat', 'engine', 'files', 'gpu'],
  },
  'browser.ts': {
    does: 'the public face in a page',
    rooms: ['model-types.ts', 'host', 'chat', 'engine', 'files'],
    page: true,
  },
  host: {
    does: "a model's life: one value a kind of model; open, lose, reopen, sleep, close, plan, threads",
    rooms: ['model-types.ts', 'chat', 'engine', 'files', 'gpu', 'options'],
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
  chat: {
    does: 'conversations, tools and typed replies on the requests of any opened model; other interfaces of libraries',
    rooms: [
      ...['options', 'files/image/png-encode.ts', 'files/language-names.ts'],
      ...['engine/transcription/request-rules.ts', 'engine/text/request/text-rules.ts'],
    ],
    types: ['engine', 'files'],
    packages: ['@ai-sdk/provider'], // its types alone
  },
  engine: {
    does: 'loops, waiting and time',
    rooms: ['models', 'kernels', 'files', 'gpu', 'grammar', 'options'],
    packages: ['lru-cache'],
  },
  options: { does: 'every setting once: name, kind, bounds, default, help', rooms: [], closed: true },
  models: {
    does: 'tensors in, tensors out; what processors make of media',
    rooms: ['kernels', 'files/image/resample.ts', 'files/tensors/half-values.ts'],
    types: ['gpu', 'files'],
  },
  kernels: { does: 'one launcher a shader', rooms: ['gpu'] },
  gpu: {
    does: 'device, tensor, tape, arena, linker',
    rooms: [],
    packages: ['webgpu'],
    node: [
      /^node\.ts$/,
      /^adapters\/pci-cards\.ts$/,
      /^free-memory\.ts$/,
      /^native-library\.ts$/,
      /^vulkan-cache\.ts$/,
    ],
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
    packages: ['@huggingface/tokenizers', '@noble/hashes', 'h264-mp4-encoder', 'sharp', 'ioredis', ...SOUNDS],
    node: [
      /^shipped\.ts$/,
      /^disk\/(cache-folder|source-disk|tuned-file)\.ts$/,
      /^hub\/(hub|hub-disk|hub-env|hub-folder|hub-list|hub-local|hub-lock|modelhub)\.ts$/,
      /^checkpoint\/(quantized-cache|shard-folder|weights-identity)\.ts$/,
      /^pages\/(page-store-.*|stored-page)\.ts$/,
      /^image\/image\.ts$/,
      /^video\/encode-(video|webm)\.ts$/,
      /^media\/(read-image|read-animation|read-container|read-video|read-sound|sound-container|container|decoders-node)\.ts$/,
    ],
    page: [/^page\//, /^opfs\//],
  },
};
