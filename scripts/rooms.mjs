// The rooms of src/: what each does, what it may import, and the order of the rooms inside it. scripts/check-imports.mjs enforces it.

const OPEN_NAMES = ['error', 'message', 'bytes-text', 'count-text', 'media/media-nouns'];
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
      /^shipped\.ts$/,
      /^disk\/(cache-folder|source-disk|tuned-file)\.ts$/,
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
  'server/docs': '/openapi.json and /docs, from the tables that check requests',
  'server/admin': 'the server about itself: health, metrics, caches, LoRA adapters',
  'server/anthropic': "Anthropic's messages",
  'server/responses': "OpenAI's responses, with the tools of coding agents",
  'server/ollama': "Ollama's routes",
  'server/tokens': 'texts as ids and as vectors: tokenize, embeddings',
  'server/chat': 'chat completions, and what other interfaces convert to them',
  'server/completions': 'completions',
  'server/images': 'images: generations, edits, where they are stored',
  'server/text': 'interfaces to text models as values: fields, messages, events as replies, streams',
  'server/media': 'the media that requests name: fetched safely, bounded, as bytes',
  'server/service': 'the models that are served, their names, turns and metrics; routes as values',
  'server/body': 'the bytes of a request into values: bounds, lists, members nobody knows',
  'server/http': 'what every route says over HTTP: errors, streams, lines of log',
  'host/session': 'the life of a model: opened, lost, opened again, asleep, closed',
  'host/thread': 'a model in one thread and its caller in another',
  'host/kinds': 'the kinds of models, one value each, which everything else reads',
  'host/node': 'what starts the engine in Node: its disk, its device, its worker threads',
  'host/page': "what starts the engine in a page: the page's files and storage, its workers",
  'host/electron': "Electron's main process and preload scripts: the face of an engine in a hidden window",
  'engine/weights': 'readers of weight requests: check, plan, place, pack, cache, adapt',
  'engine/check': 'kernels of an adapter against their plain forms, family by family',
  'engine/plan':
    'what a model of any kind would take: headers, openings on paper, the smallest change that fits',
  'engine/tuning': 'kernels compiled ahead, and the fastest of equal variants for a model and an adapter',
  'engine/opening': 'what opening any model needs: classes, files, events of its progress',
  'engine/input': 'values that callers pass: their checks',
  'engine/platform': 'what a starter provides: disk, device, threads, the tokenizer beside the engine',
  'engine/async': 'promises, queues of events and of callers, aborting',
  'engine/text': 'opening and serving a language model',
  'engine/text/request': 'messages and media into sequences',
  'engine/text/threads': "grammars compiled and long texts tokenized beside the engine's thread",
  'engine/text/run': 'scheduler, the loop that submits steps, sequences and their events',
  'engine/text/cache': 'pages of sequences: the tree of prefixes, the tiers below the device',
  'engine/text/step': "a step on the device: its rows' buffers, its tapes, what is read back",
  'engine/text/media': 'images, videos and sounds of messages: read and written into prompts',
  'engine/text/towers':
    'rows of media: which tokens of a prompt take them, and the towers that compute them between steps',
  'engine/text/kv': 'what layers keep on the device: KV pages and fixed states, their layout, their copies',
  'engine/text/output': 'what tokens mean: reasoning, tool calls, answers, by the tables of their formats',
  'engine/text/lora': 'LoRA of language models: folders, names, matrices beside the weights',
  'engine/text/calls': 'what is asked of a language model and what it answers',
  'engine/embedding': 'texts in, vectors out',
  'engine/image': 'opening and serving a pipeline of images',
  'engine/image/request': 'every value of an image decided and checked before anything is read',
  'engine/image/stages': 'stages of an image, its steps planned, noise, events, previews',
  'engine/image/families': 'the families that are built, and those that are refused by name',
  'engine/image/blocks': 'what families are built of: declaration, text encoders, denoisers of transformers',
  'engine/image/components': 'components of a pipeline coming and going: files, formats, residency',
  'engine/image/recording': "tapes of a pipeline's stages, scopes, the denoising step",
  'engine/image/lora': 'LoRA of pipelines: files, names, matrices beside or merged',
  'engine/image/layouts':
    'layouts of models in one file: names of their tensors and of modules in LoRA, configurations by shapes, what shapes do not tell',
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
  'cli/chat': 'a conversation in the terminal: its questions, its media',
  'cli/generate': 'images: options, configuration, prompts, names of files, reports',
  'cli/serve': 'the server: its options, the models that it serves',
  'cli/doctor': 'what this machine can do, and what to do where it cannot',
  'cli/options': "tables of options, arguments by them, the engine's options",
  'cli/process': 'what a command has of its process: terminal, exit codes, signals, files that it is given',
  'grammar/schema': 'JSON Schema as a grammar',
  'grammar/lark': 'Lark grammars, and expressions of Python and Rust, as regular expressions',
  'grammar/ebnf': 'EBNF as a grammar',
  'grammar/stops': 'stop strings and stop expressions as automata over characters',
  'grammar/compile': 'rules into compiled grammars, pruned to what can be completed',
  'grammar/masks':
    "which tokens of a vocabulary may follow: its trie, masks, tokens that are forced, a text's place",
  'grammar/stacks': 'where a text can stand in a compiled grammar: stacks of nodes, their growth',
  'grammar/json': 'states within JSON: members of objects, elements of arrays, values that must differ',
  'grammar/rules': 'the two forms of a grammar: rules as front ends write them, nodes as stacks walk them',
  'grammar/lexemes': 'the words of a grammar as automata over bytes, and their states',
  'grammar/automata': 'automata over characters: regular expressions, products, minimal forms',
  'grammar/bounds': 'what a grammar may cost, and the error that says so',
  'files/disk': "files of the local disk, and the engine's folders there",
  'files/tensors': 'tensors as files state them: names, types, places; the header of safetensors',
  'files/hub': 'the model hubs: names, lists, downloads, their cache on disk',
  'files/coded':
    'weights that other programs quantized: how that is declared, and tensors that hold one weight together',
  'files/checkpoint':
    'weights and their configuration, from folders and from GGUF files: shards, adapters, packed copies',
  'files/lora':
    'adapters of image models: names of their tensors, their factors, the tensors that they change',
  'files/gguf': 'GGUF files: header, metadata as tokenizer, tensors by name, towers, adapters',
  'files/pipeline': 'pipelines of diffusers: their index, their components',
  'files/tokenizer': 'texts into ids and back',
  'files/tokenizer/encode':
    'texts into ids: the normalizers, pre-tokenizers, models and post-processors of tokenizer.json',
  'files/template': 'chat templates',
  'files/template/jinja': "Jinja with Python's semantics: source to syntax tree to text, bounded",
  'files/template/jinja/filters': 'filters and tests',
  'files/template/jinja/members': 'attributes and methods of values, global functions',
  'files/template/jinja/operators': 'operators: arithmetic, comparisons, slices, % of strings',
  'files/template/jinja/syntax': 'source into tokens and a tree',
  'files/template/jinja/values': 'values as Python has them: how they print, iterate and are counted',
  'files/pages': 'KV pages in files and in Redis',
  'files/opfs':
    "a browser's private file system: models of the hub, packed weights, tuned variants, and the room for them",
  'files/page': 'files of a page: those that a user picked, those that the page reads itself',
  'files/image': 'PNG, JPEG, WebP and what they carry',
  'files/media': 'images, videos and sounds as models read them: formats, bounds, pixels, frames, samples',
};

/** Folders whose folders are alike: one a family. Each does what its name says. */
export const FAMILIES = new Set(['models/text', 'engine/image/families']);

/**
 * The storeys inside rooms: for a folder its folders from top to bottom, `.` for its own files. A file may import from its own storey and those
 * below it. Folders that are not in this table may import each other in one direction only.
 */
export const STOREYS = {
  host: ['electron', 'node', 'page', '.', 'kinds', 'thread', 'session'],
  server: [
    '.',
    'docs',
    'admin',
    'anthropic',
    'responses',
    'ollama',
    'tokens',
    'chat',
    'completions',
    'images',
    'text',
    'media',
    'service',
    'body',
    'http',
  ],
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
  'engine/text': [
    '.',
    'request',
    'threads',
    'media',
    'output',
    'run',
    'cache',
    'step',
    'towers',
    'kv',
    'lora',
    'calls',
  ],
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
  cli: ['.', 'chat', 'generate', 'serve', 'doctor', 'options', 'process'],
  models: ['towers', 'vision', 'audio', 'image', 'text', '.'],
  grammar: [
    '.',
    'schema',
    'lark',
    'ebnf',
    'stops',
    'compile',
    'masks',
    'stacks',
    'json',
    'rules',
    'lexemes',
    'automata',
    'bounds',
  ],
  files: [
    'opfs',
    'page',
    'hub',
    'lora',
    'pipeline',
    'checkpoint',
    'template',
    'tokenizer',
    'pages',
    'disk',
    'coded',
    'gguf',
    'tensors',
    'media',
    'image',
    '.',
  ],
  'files/template': ['.', 'jinja'],
  'files/template/jinja': ['.', 'filters', 'members', 'operators', 'syntax', 'values'],
  'files/tokenizer': ['.', 'encode'],
};

/** Most files that lie loose in one folder; kernels/ is flat on purpose, one .ts per .wgsl. */
export const MOST_LOOSE = 40;
