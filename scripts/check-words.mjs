// The words of src/: nouns that name one thing (scripts/glossary.mjs), words that are not used, and exported types that say what they are. The
// titles of test/: a report prints them without the code, so that each needs a subject.
//   node scripts/check-words.mjs          prints file:line for each breach; exit code 1 if there is one

import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'vitest/node';
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

/** Functions whose first argument is a title. */
const TESTS = ['describe', 'it', 'test'];

/** Verbs with which titles begin that leave their subject out. */
const VERBS =
  wordsOf(`accepts adds allows answers appends applies are asks begins binds brings builds can cannot clamps closes collects comes
  compiles composites computes continues converts crosses cuts decodes deletes divides does draws drops embeds emits encodes ends evaluates
  evicts fails fetches fills finds fits flushes follows forgets frees gives goes guesses had hands has have heeds hears hides holds ignores
  inserts is joins judges keeps knows lacks leaves lends lets loads logs looks loses makes may measures merges mirrors moves must need needs
  never obeys offers opens packs parses passes pauses picks pins prefers prepares prints puts raises reaches reads refuses rejects releases
  removes renders renews replaces requires resolves restores returns reuses saves says sees selects sends serves shows skips sleeps sorts
  stands starts stays stops stores submits takes tells throws tokenizes tries uses waits wants warns works writes`);

/** Nouns in the plural that are verbs before an object. */
const VERB_WITH_OBJECT =
  /^(?:calls|counts|lists|names|notes|repeats|reports|runs|sets|times|turns|walks) (?:an?|all|each|every|its?|no|nothing|only|that|the|them|what|where)\b/;

/** Conjunctions, prepositions, pronouns and relative words. */
const LINKS =
  wordsOf(`about above across after against although among and as at because before behind below beside besides between beyond but
  by during except for from how if in inside into it its like near neither nor not of off on one ones or out outside over per she since so
  than that their them then these they this those through till to towards under unless until up upon what whatever when whenever where
  wherever whether which whichever while who whoever whom whose why with within without`);

/** Words with which no title begins, not even within a `describe`. */
const NOWHERE = wordsOf('it its they their what whatever who whoever');

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

/**
 * A `describe` of the first level, and a test outside any, begin with their subject; titles within may continue it.
 * @param {Record<string, string>} sources path below test/ (with /) to text; @returns {string[]} breaches as `test/path:line message`
 */
export function checkTitles(sources) {
  return Object.entries(sources).flatMap(([file, text]) =>
    titlesIn(parseAst(text, { lang: file.endsWith('.ts') ? 'ts' : 'js' })).flatMap(
      ({ title, at, isFirst }) => {
        const remedy = remedyFor(title, isFirst);
        const line = text.slice(0, at).split('\n').length;
        return remedy === null ? [] : [`test/${file}:${line} '${title}': ${remedy}`];
      },
    ),
  );
}

function remedyFor(title, isFirst) {
  const word = /^[\w'’-]+/.exec(title)?.[0].toLowerCase();
  if (isFirst && (VERBS.has(word) || LINKS.has(word) || VERB_WITH_OBJECT.test(title)))
    return 'begin with what is tested';
  return NOWHERE.has(word) ? 'name what is meant' : null;
}

/** Returns the titles below a node, of `it(title, …)`, `it.each(…)(title, …)` and `pages.test(title, …)` alike. */
function titlesIn(node, isFirst = true) {
  if (Array.isArray(node)) return node.flatMap((child) => titlesIn(child, isFirst));
  if (typeof node?.type !== 'string') return [];
  const [title, ...others] = (node.type === 'CallExpression' && node.arguments) || [];
  const names = others.length > 0 ? namesIn(node.callee) : [];
  const isInside = names.includes('describe');
  const below = Object.values(node).flatMap((child) => titlesIn(child, isFirst && !isInside));
  const text = title?.type === 'TemplateLiteral' ? title.quasis[0].value.raw : title?.value;
  if (typeof text !== 'string' || !names.some((name) => TESTS.includes(name))) return below;
  return [{ title: text, at: title.start, isFirst }, ...below];
}

/** Returns the identifiers of a callee. */
function namesIn({ type, name, callee, object, property }) {
  if (type === 'Identifier') return [name];
  if (type === 'CallExpression') return namesIn(callee);
  return type === 'MemberExpression' ? [...namesIn(object), ...namesIn(property)] : [];
}

function wordsOf(text) {
  return new Set(text.split(/\s+/));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const breaches = [
    ...checkWords(sourcesIn('src', /\.ts$/)),
    ...checkTitles(sourcesIn('test', /\.test\.(?:ts|mjs)$/)),
  ];
  for (const breach of breaches) console.error(breach);
  process.exitCode = breaches.length > 0 ? 1 : 0;
}

function sourcesIn(folder, pattern) {
  const path = fileURLToPath(new URL(`../${folder}/`, import.meta.url));
  const files = readdirSync(path, { recursive: true }).filter((file) => pattern.test(file));
  return Object.fromEntries(
    files.map((file) => [file.split(sep).join('/'), readFileSync(join(path, file), 'utf8')]),
  );
}
