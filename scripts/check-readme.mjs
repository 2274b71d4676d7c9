// The README's tables of options and request fields come from the tables the program itself reads.
//   node scripts/check-readme.mjs            says where they differ
//   node scripts/check-readme.mjs --write    writes them

import { readFileSync, writeFileSync } from 'node:fs';
import { GENERATE_OPTIONS } from '../dist/cli/generate-options.js';
import { BATCH_OPTIONS, ENGINE_OPTIONS, SERVER_OPTIONS } from '../dist/cli/options.js';
import { EDIT_FIELDS, IMAGE_FIELDS } from '../dist/server/image-schema.js';
import { FIELDS } from '../dist/server/schema.js';

const file = new URL('../README.md', import.meta.url);

const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

function optionValue(option) {
  if (option.kind === 'choice') return option.choices.join(', ');
  if (option.kind === 'bytes') return 'size, as 6GB or 512MiB';
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

function optionMeaning({ help, aliases = [], unbuilt }) {
  const also = aliases.length > 0 ? ` Also ${aliases.map((name) => `\`--${name}\``).join(', ')}.` : '';
  return `${help}${also}${unbuilt ? ' Not built yet: taken at its default, refused otherwise.' : ''}`;
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

const tables = {
  options: optionTable({ ...SERVER_OPTIONS, ...ENGINE_OPTIONS, ...BATCH_OPTIONS }),
  generate: optionTable(GENERATE_OPTIONS),
  fields: fieldTable(FIELDS),
  'image-fields': fieldTable(IMAGE_FIELDS),
  'edit-fields': fieldTable(EDIT_FIELDS),
};

const before = readFileSync(file, 'utf8');
let after = before;
for (const [name, text] of Object.entries(tables)) {
  const part = new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`);
  if (!part.test(before)) throw new Error(`README.md has no place for the table of ${name}`);
  after = after.replace(part, (_, open, close) => `${open}${text}\n${close}`);
}
if (process.argv.includes('--write')) {
  writeFileSync(file, after);
} else if (after !== before) {
  console.error("README.md: its tables are not the program's: run node scripts/check-readme.mjs --write");
  process.exitCode = 1;
}
