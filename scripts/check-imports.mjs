// The house rules that a compiler does not know: which room may import what, that no file imports itself by way of others, and which
// words belong to one room.
//   node scripts/check-imports.mjs        prints file:line for each breach; exit code 1 if there is one

import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OPEN, ROOMS } from './rooms.mjs';
import { FAMILIES, FOLDERS, MOST_LOOSE, STOREYS } from './storeys.mjs';

/** Files that run or add shaders below kernels. */
const BELOW = ['gpu/adapter-probe.ts', 'gpu/linker.ts'];

/** Words that may occur in one room only, and those without a room in none. A constructor cannot be `#private`. */
export const WORDS = [
  { word: /\bGPUDevice\b/, room: 'gpu', message: 'only gpu/ says GPUDevice' },
  { word: /[\w$]\.wgsl\b/, room: 'kernels', except: BELOW, message: 'only kernels/ names a shader' },
  {
    word: /(?<=\n *)(?:private|protected) (?!constructor\b)|\bthis\._/,
    message: 'members that others must not use are `#private`',
  },
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
  const files = readdirSync(src, { recursive: true }).filter((file) => /\.tsx?$/.test(file));
  const sources = files.map((file) => [file.split(sep).join('/'), readFileSync(join(src, file), 'utf8')]);
  const breaches = checkImports(Object.fromEntries(sources));
  for (const breach of breaches) console.error(breach);
  process.exitCode = breaches.length > 0 ? 1 : 0;
}
