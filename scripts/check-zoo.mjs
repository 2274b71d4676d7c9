// Plans every model of a folder of published configurations, and compares what comes of each with scripts/zoo-outcomes.json.
//   node scripts/check-zoo.mjs FOLDER            prints the differences; exit code 1 if there are any
//   node scripts/check-zoo.mjs FOLDER --write    writes the outcomes
// FOLDER holds lm/ and diffusers/, a folder a model: configurations and indexes as they were published, and WEIGHTS.json with the names
// of the weight files, which are not there. Weights and Python files of a repository count as published where a configuration names them or
// needs them. An outcome is the class that the model is planned with, or `refused` with a key word of the
// reason.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { planFolder } from '../dist/host/plan.js';
import { readJson } from '../dist/files/source.js';
import { openDiskFolder } from '../dist/files/disk/source-disk.js';
import { readShader } from '../dist/gpu/node.js';
import { openPaperDevice } from '../dist/gpu/paper-device.js';

const TABLE = new URL('zoo-outcomes.json', import.meta.url);
/** More than any model needs: no smaller change has to be looked for. */
const BUDGET = 2 ** 50;

const [folder, mode] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node scripts/check-zoo.mjs FOLDER [--write | --show]');
  process.exit(2);
}

/** File names of the repository in addition to those in the folder, by the folder's path within the model. */
function weightNames(model) {
  const file = join(model, 'WEIGHTS.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).map(([name]) => name) : [];
}

const WEIGHT_FILE = /\.(safetensors|bin|pt|pth|ckpt|gguf)$|\.index\.json$/;

/** Lists the Python files that auto_map in config.json says the repository has. */
async function codeFiles(disk, names) {
  if (!names.includes('config.json')) return [];
  const { auto_map: map } = await readJson(disk, 'config.json').catch(() => ({}));
  const references = Object.values(map ?? {}).flat();
  return references
    .filter((name) => typeof name === 'string' && !name.includes('--'))
    .map((name) => `${name.split('.')[0]}.py`);
}

/** Returns the name that a folder's weights get if WEIGHTS.json lists none of any kind. */
function assumedWeights(names) {
  if (!names.includes('config.json') || names.some((name) => WEIGHT_FILE.test(name))) return [];
  return ['model.safetensors'];
}

/** Opens a folder with the file names of the published repository. */
function openPublished(model) {
  const files = weightNames(model);
  return async (path) => {
    const disk = await openDiskFolder(path);
    const prefix = relative(model, path) === '' ? '' : `${relative(model, path)}/`;
    const own = files
      .filter((name) => name.startsWith(prefix) && !name.slice(prefix.length).includes('/'))
      .map((name) => name.slice(prefix.length));
    const known = [...(await disk.names()), ...own].filter((name) => name !== 'WEIGHTS.json');
    const names = [...known, ...assumedWeights(known), ...(await codeFiles(disk, known))];
    return { path: disk.path, open: (name) => disk.open(name), names: async () => [...new Set(names)] };
  };
}

/** Key words of refusals; the first that a message contains is used. */
const REASONS = [
  ['quantized', /quantized/],
  ['adapter', /is a LoRA/],
  ['gguf', /GGUF/],
  ['code', /Python code|needs code/],
  ['module', /ends in a .* module/],
  ['component', /names no \w+, which its pipeline class needs|which is not built in as/],
  ['pipeline class', / is an? \w+Pipeline, which/],
  ['architecture', /the architecture is \w+, which is not built/],
];

async function outcomeOf(model) {
  const options = { model, memoryBudget: BUDGET };
  const openDevice = (memoryBudget) => openPaperDevice({ shaders: readShader, memoryBudget });
  try {
    const openFolder = openPublished(model);
    const place = { openFolder, openDevice, memory: BUDGET, configsOnly: true };
    const plan = await planFolder(model, options, place);
    return { outcome: `plans ${plan.architecture}`, message: '', plan };
  } catch (error) {
    if (error.code === undefined || error.code === 'internal') throw error;
    const [reason] = REASONS.find(([, pattern]) => pattern.test(error.message)) ?? ['other'];
    return { outcome: `refused: ${reason}`, message: error.message };
  }
}

const found = {};
for (const room of ['lm', 'diffusers']) {
  for (const name of readdirSync(join(folder, room)).sort()) {
    const result = await outcomeOf(join(folder, room, name));
    found[`${room}/${name}`] = result;
    if (mode === '--show')
      console.log(`${room}/${name}: ${result.outcome}\n    ${result.message.replaceAll(folder, '')}`);
  }
}
if (mode === '--write') {
  const outcomes = Object.fromEntries(Object.entries(found).map(([name, { outcome }]) => [name, outcome]));
  writeFileSync(TABLE, `${JSON.stringify(outcomes, null, 2)}\n`);
}
const expected = JSON.parse(readFileSync(TABLE, 'utf8'));
const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])];
const wrong = names.filter((name) => found[name]?.outcome !== expected[name]);
for (const name of wrong)
  console.error(
    `${name}: ${found[name]?.outcome ?? 'is not there'} (${found[name]?.message ?? ''}), expected ${expected[name]}`,
  );
const plans = Object.values(found).filter(({ plan }) => plan !== undefined).length;
console.log(
  `${names.length} models: ${plans} plans, ${names.length - plans} refused, ${wrong.length} not as expected`,
);
process.exitCode = wrong.length > 0 ? 1 : 0;
