// The tables of options and request fields in the rooms' README.md come from the tables the program itself reads; README.md stays short.
//   node scripts/check-readme.mjs            says where they differ, and which field of a chat request has no test of its name
//   node scripts/check-readme.mjs --write    writes them

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { GENERATE_OPTIONS } from '../dist/cli/generate/generate-options.js';
import { BATCH_OPTIONS, ENGINE_OPTIONS } from '../dist/cli/options/engine-options.js';
import { SERVER_OPTIONS } from '../dist/cli/serve/server-options.js';
import { EDIT_FIELDS, IMAGE_FIELDS } from '../dist/server/images/image-schema.js';
import { VIDEO_FIELDS } from '../dist/server/videos/video-schema.js';
import { ROUTES } from '../dist/server/routes.js';
import { FORMATS } from '../dist/kernels/formats.js';
import { TOKENIZER_BACKENDS } from '../dist/engine/image/components/component-files.js';
import { CACHE_METHODS } from '../dist/engine/image/step-cache/cache-settings.js';
import { imageFamilies } from '../dist/engine/image/families/registry.js';
import { GGUF_TOWERS, mediaFamily } from '../dist/models/towers/media-families.js';
import { textClasses } from '../dist/models/text/registry.js';
import { wrapperClasses } from '../dist/models/text/wrappers.js';
import { CHAT_FIELDS } from '../dist/server/chat/chat-schema.js';

const root = new URL('../', import.meta.url);
/** Maximum sizes in bytes of the page for users and of the map of the source. */
const PAGE_BYTES = { 'README.md': 12_288, 'src/README.md': 16_384 };

const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

function optionValue(option) {
  if (option.kind === 'choice') return option.value ?? option.choices.join(', ');
  if (option.kind === 'bytes') return 'size, as 6GB or 512MiB';
  if (option.kind === 'integers') return 'integer, or several with commas';
  return option.value ?? (option.kind === 'texts' ? 'text, repeatable' : option.kind);
}

function optionTable(options) {
  return table(
    ['Option', 'Value', 'Default', 'Meaning'],
    Object.entries(options).map(([name, option]) => [
      `\`--${name}\``,
      optionValue(option),
      option.default ?? option.otherwise ?? (option.kind === 'boolean' ? 'off' : ''),
      optionMeaning(option),
    ]),
  );
}

function optionMeaning({ help, aliases = [] }) {
  const also = aliases.length > 0 ? ` Also ${aliases.map((name) => `\`--${name}\``).join(', ')}.` : '';
  return `${help}${also}`;
}

function fieldTable(fields) {
  return table(
    ['Field', 'Status', 'Default', 'Rule'],
    Object.entries(fields).map(([name, field]) => [
      `\`${name}\``,
      field.status,
      field.defaultText ?? (field.default === undefined ? '' : `\`${JSON.stringify(field.default)}\``),
      field.help ?? '',
    ]),
  );
}

/** Field → the test file that has a test named for it: a call of field('its name', …). */
function fieldTests() {
  const folder = 'test/server/';
  const files = readdirSync(new URL(folder, root), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => name.replaceAll('\\', '/'));
  const found = files.toSorted().flatMap((name) => {
    const text = readFileSync(new URL(folder + name, root), 'utf8');
    return [...text.matchAll(/^field\('(\w+)'/gm)].map(([, field]) => [field, folder + name]);
  });
  return new Map(found);
}

/** Table of fields: description, file that implements the field, and the test named after it. */
function honouredTable(fields, tests) {
  const link = (path) => `[${path.replace(/^(src|test)\//, '')}](../../${path})`;
  return table(
    ['Field', 'Default', 'Rule', 'Honoured by', 'Test'],
    Object.entries(fields).map(([name, field]) => [
      `\`${name}\``,
      field.defaultText ?? (field.default === undefined ? '' : `\`${JSON.stringify(field.default)}\``),
      field.help,
      field.status === 'honoured' ? link(`src/${field.by}`) : STATUS_TEXT[field.status],
      link(tests.get(name) ?? ''),
    ]),
  );
}

const STATUS_TEXT = {
  'neutral-only': 'refused but for values that ask for nothing',
  'no-effect': 'no effect here',
};

/** Lists what a field lacks to be in the table. */
function fieldProblems(fields, tests) {
  return Object.entries(fields).flatMap(([name, { status, by }]) => [
    ...(tests.has(name) ? [] : [`${name} has no test: write field('${name}', …) in test/server/`]),
    ...(status !== 'honoured' || (by && existsSync(new URL(`src/${by}`, root)))
      ? []
      : [`${name} names no file that honours it: give it one that exists, got ${by}`]),
  ]);
}

const stricterList = (fields) =>
  Object.entries(fields)
    .flatMap(([name, { stricter }]) => (stricter ? [`\`${name}\`: ${stricter}`] : []))
    .join('; ');

const tests = fieldTests();
const problems = fieldProblems(CHAT_FIELDS, tests);
if (problems.length > 0) {
  complain(problems.map((problem) => `src/server/chat/chat-schema.ts: ${problem}`).join('\n'));
}

/** Routes by group; alternative spellings of an address are in the same row. */
function routeTable() {
  const rows = Object.entries(ROUTES).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { aliasOf }]) => !aliasOf)
      .map(([method, { group, summary }]) => [
        group,
        [`${method} ${path}`, ...aliasesOf(path)].map((address) => `\`${address}\``).join(', '),
        summary,
      ]),
  );
  return table(['Group', 'Route', ''], rows);
}

function aliasesOf(path) {
  return Object.entries(ROUTES)
    .filter(([, methods]) => Object.values(methods).some(({ aliasOf }) => aliasOf === path))
    .map(([spelling]) => spelling);
}

/** Classes of config.json, with the kinds of models that they open as. */
function architectureTable() {
  const serving = { generate: 'text', embed: 'embeddings' };
  const own = textClasses().map(({ name, modelType, examples, serves }) => [
    `\`${name}\``,
    modelType ? `\`${modelType}\`` : '',
    serves.map((kind) => serving[kind]).join(', '),
    examples ?? '',
  ]);
  const named = (names) => names.map((name) => `\`${name}\``).join(', ');
  const reads = wrapperClasses().filter((name) => mediaFamily(name) !== null);
  const others = wrapperClasses().filter((name) => mediaFamily(name) === null);
  const wrappers = [
    [named(reads), '', 'text, with images, videos or sounds', ''],
    [named(others), '', 'text, by the text model within', ''],
  ];
  return table(['Architecture', '`model_type`', 'Opens for', 'Published models'], [...own, ...wrappers]);
}

/** Towers of llama.cpp's files, with the language models that they stand before. */
function towerTable() {
  const named = (names) => names.map((name) => `\`${name}\``).join(', ');
  const rows = GGUF_TOWERS.map(({ projector, texts, classNames }) => [
    `\`${projector}\``,
    texts === null ? 'any' : named(texts),
    named(classNames),
  ]);
  return table(['`clip.projector_type`', '`general.architecture` of the language model', 'Opens as'], rows);
}

/** Classes of model_index.json by family. */
function pipelineTable() {
  const rows = imageFamilies().map(({ name, examples, pipelines, components }) => [
    name,
    pipelines
      .flatMap(({ classes }) => Object.values(classes).map((className) => `\`${className}\``))
      .join(', '),
    examples ?? '',
    [components, ...pipelines.map((set) => set.components ?? {})]
      .flatMap((some) => Object.values(some))
      .flatMap(({ classes }) => classes ?? [])
      .filter((className) => !/Tokenizer/.test(className) && !TOKENIZER_BACKENDS.includes(className))
      .filter((className, at, all) => all.indexOf(className) === at)
      .join(', '),
  ]);
  return table(['Family', 'Pipelines', 'Published models', 'Components'], rows);
}

/** Weight formats as the kernels compute with them. */
function formatTable() {
  return table(
    ['Format', 'Bits of a code', 'Scale', 'Weight', 'Packed from'],
    Object.values(FORMATS).map(({ name, bits, scale, rule, sources }) => [
      name,
      bits,
      scale ? `${8 * scale.bytes} bits for ${scale.block} k's` : 'none',
      rule,
      sources.join(', '),
    ]),
  );
}

/** Ways in which steps reuse what others computed, with their settings. */
function cacheTable() {
  return table(
    ['`method`', 'What it does', 'Settings (default)'],
    Object.entries(CACHE_METHODS).map(([name, { help, keys }]) => [`\`${name}\``, help, keys]),
  );
}

/** The tables of each README.md, by its path in the repository. */
const DOCUMENTS = {
  'src/cli/README.md': {
    options: optionTable({ ...SERVER_OPTIONS, ...ENGINE_OPTIONS, ...BATCH_OPTIONS }),
    generate: optionTable(GENERATE_OPTIONS),
    caches: cacheTable(),
  },
  'src/models/README.md': {
    architectures: architectureTable(),
    towers: towerTable(),
    formats: formatTable(),
    pipelines: pipelineTable(),
  },
  'src/server/README.md': {
    routes: routeTable(),
    fields: honouredTable(CHAT_FIELDS, tests),
    'stricter-limits': `${stricterList(CHAT_FIELDS)}.`,
    'image-fields': fieldTable(IMAGE_FIELDS),
    'edit-fields': fieldTable(EDIT_FIELDS),
    'video-fields': fieldTable(VIDEO_FIELDS),
  },
};

for (const [path, tables] of Object.entries(DOCUMENTS)) updateTables(path, tables);
checkSizes();
checkLinks([...Object.keys(PAGE_BYTES), 'scripts/bench/README.md', ...Object.keys(DOCUMENTS)]);

/** Writes the tables of one document, or reports that they differ. */
function updateTables(path, tables) {
  const file = new URL(path, root);
  const before = readFileSync(file, 'utf8');
  let after = before;
  for (const [name, text] of Object.entries(tables)) {
    const part = new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`);
    if (!part.test(before)) throw new Error(`${path} has no place for the table of ${name}`);
    after = after.replace(part, (_, open, close) => `${open}${text}\n${close}`);
  }
  if (process.argv.includes('--write')) writeFileSync(file, after);
  else if (after !== before)
    complain(`${path}: its tables differ from the program's: run node scripts/check-readme.mjs --write`);
}

/** Reference tables belong to the rooms, so that the two pages that are read first stay short. */
function checkSizes() {
  for (const [path, bytes] of Object.entries(PAGE_BYTES)) {
    const { length } = readFileSync(new URL(path, root));
    if (length > bytes) complain(`${path} has ${length} bytes, more than ${bytes}: move tables to the rooms`);
  }
}

/** Checks that links to files of the repository exist. */
function checkLinks(paths) {
  for (const path of paths) {
    const file = new URL(path, root);
    for (const [, target] of readFileSync(file, 'utf8').matchAll(/\]\(([^)#\s]+)(?:#[\w-]+)?\)/g)) {
      if (!/^\w+:/.test(target) && !existsSync(new URL(target, file))) complain(`${path}: no file ${target}`);
    }
  }
}

function complain(message) {
  console.error(message);
  process.exitCode = 1;
}
