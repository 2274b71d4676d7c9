// Every shader, in every variant that its imports allow, through naga, the shader compiler of Firefox and of wgpu: parsed, validated, and
// written as SPIR-V, MSL and HLSL. Where there is no naga, the check says so and passes.
//   node scripts/check-naga.mjs [PART_OF_A_SHADER'S_NAME …]
// naga 30 compiles the functions of subgroups and does not know the line `enable subgroups` yet, so that Firefox gets the variants without
// them; the others are checked without that line. Kernels on Chromium's subgroup matrices, which Firefox does not offer, are left out.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { findNaga } from './setup/naga.mjs';
import { enabledBy, linkVariant, shaders, variantsOf } from './shader-variants.mjs';

/** Milliseconds for one module, of which the slowest takes a tenth of a second. */
const LIMIT = 60_000;

const naga = findNaga();
if ('reason' in naga) console.log(`naga: NOT RUN (${naga.reason})`);
else {
  const folder = mkdtempSync(join(tmpdir(), 'svc-naga-'));
  try {
    process.exitCode = await checkAll(naga, folder, process.argv.slice(2));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns {Promise<number>} the exit code */
async function checkAll({ path, version }, folder, parts) {
  const modules = shaders
    .filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)))
    .flatMap((name) => [...variantsOf(name)].map(({ params }) => linkVariant(name, params)))
    .filter(({ code }) => !enabledBy(code).some((name) => name.startsWith('chromium_')));
  const unknown = unknownExtensions(path, folder, modules);
  const isCut = ({ code }) => enabledBy(code).some((name) => unknown.includes(name));
  const problems = [];
  const waiting = modules.entries();
  const checkWaiting = async () => {
    for (const [at, shader] of waiting) {
      const file = join(folder, `${at}.wgsl`);
      writeFileSync(file, isCut(shader) ? shader.code.replace(/^enable .*;/gm, '') : shader.code);
      const problem = await translate(path, file);
      if (problem !== null) problems.push(`${shader.locate(0)}: ${problem}`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, checkWaiting));
  for (const problem of problems) console.error(problem);
  const cut = modules.filter(isCut).length;
  console.log(
    `naga ${version}: ${modules.length} modules, ${problems.length} refused` +
      (cut > 0 ? `, ${cut} checked without the line \`enable ${unknown.join(', ')}\`` : ''),
  );
  return problems.length > 0 ? 1 : 0;
}

/** The extensions that modules enable and that this naga does not know. */
function unknownExtensions(path, folder, modules) {
  const names = new Set(modules.flatMap(({ code }) => enabledBy(code)));
  return [...names].filter((name) => {
    const file = join(folder, `${name}.wgsl`);
    writeFileSync(file, `enable ${name};\n@compute @workgroup_size(1) fn main() {}\n`);
    return spawnSync(path, [file], { timeout: LIMIT }).status !== 0;
  });
}

/** Writes one module in each language; returns what naga says where it fails, or null. */
async function translate(path, file) {
  const written = ['spv', 'metal', 'hlsl'].map((extension) => file.replace('wgsl', extension));
  const child = spawn(path, [file, ...written], { stdio: ['ignore', 'ignore', 'pipe'], timeout: LIMIT });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (output += text));
  const [code, signal] = await once(child, 'close');
  for (const made of [file, ...written]) rmSync(made, { force: true });
  return code === 0 ? null : reasonIn(output) || `naga ended with ${signal ?? code}`;
}

/** The first error or panic in naga's output, with the line after it: a panic's message, or an error's place. */
function reasonIn(output) {
  const lines = stripVTControlCharacters(output).split('\n');
  const at = lines.findIndex((line) => /^error|panicked at/.test(line));
  return lines
    .slice(Math.max(at, 0), Math.max(at, 0) + 2)
    .map((line) => line.trim())
    .join(' ');
}
