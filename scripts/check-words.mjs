// The words of src/: nouns that name one thing (scripts/glossary.mjs), words that are not used, and exported types that say what they are.
//   node scripts/check-words.mjs          prints file:line for each breach; exit code 1 if there is one

import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BARE, GLOSSARY, REFUSED } from './glossary.mjs';

const RULES = [
  ...GLOSSARY.filter(({ refused }) => refused).map(({ refused, within, except, remedy }) => ({
    word: refused,
    within,
    except,
    remedy,
  })),
  ...REFUSED.map(({ word, say }) => ({ word, remedy: `say ${say}` })),
];

/** @param {Record<string, string>} sources path below src/ (with /) to text; @returns {string[]} breaches as `src/path:line message` */
export function checkWords(sources) {
  return [...Object.entries(sources).flatMap(([file, text]) => wordsIn(file, text)), ...typesIn(sources)];
}

function wordsIn(file, text) {
  const rules = RULES.filter(
    ({ within, except }) => (within?.test(file) ?? true) && !(except?.test(file) ?? false),
  );
  return text.split('\n').flatMap((line, i) =>
    rules.flatMap(({ word, remedy }) => {
      const found = word.exec(line)?.[0];
      return found === undefined ? [] : [`src/${file}:${i + 1} '${found}': ${remedy}`];
    }),
  );
}

/** Exported types whose name is bare, or stands for two things in one room. */
function typesIn(sources) {
  const files = new Map();
  const breaches = [];
  for (const [file, text] of Object.entries(sources)) {
    for (const { 1: name, index } of text.matchAll(
      /^export (?:abstract )?(?:interface|class|type) (\w+)/gm,
    )) {
      const place = `src/${file}:${text.slice(0, index).split('\n').length}`;
      if (BARE.test(name)) breaches.push(`${place} exports ${name}: a part, plan or result of what?`);
      const key = `${file.split('/')[0]} ${name}`;
      const other = files.get(key);
      if (other !== undefined && other !== file)
        breaches.push(`${place} exports ${name}, as src/${other} does: one name, one thing in a room`);
      files.set(key, file);
    }
  }
  return breaches;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const src = fileURLToPath(new URL('../src/', import.meta.url));
  const files = readdirSync(src, { recursive: true }).filter((file) => file.endsWith('.ts'));
  const sources = files.map((file) => [file.split(sep).join('/'), readFileSync(join(src, file), 'utf8')]);
  const breaches = checkWords(Object.fromEntries(sources));
  for (const breach of breaches) console.error(breach);
  process.exitCode = breaches.length > 0 ? 1 : 0;
}
