// npm run bench: how fast models run here, beside what the adapter could do in the same run.
//   node scripts/bench.mjs [--only TEXT] [--profile] [--json]
//   --only int4      the cases whose name has this text; cases: the shipped model, a synthetic Llama of 250 M in f16, int8, int4
//   --profile        also the time of each kernel in a decoding step at 2,048 tokens
//   --json           everything that was measured, for machines
// Each case runs in a process of its own, first with an empty shader cache. On a software adapter, where other programs share the
// cores, rates are for quiet cores: tokens ÷ CPU time of the process × cores; the wall clock's rates are in the JSON.
// Other engines are measured apart from this, on the same machine and checkpoint shape; nothing here needs them.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { syntheticCheckpoint } from './bench/checkpoint.mjs';
import { lines } from './bench/table.mjs';
import { setUp } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values: options } = parseArgs({
  options: { only: { type: 'string' }, profile: { type: 'boolean' }, json: { type: 'boolean' } },
});

/** Name, folder, quantization. The synthetic checkpoint is made when a case asks for it. */
function cases() {
  const shipped = readdirSync(join(root, 'models')).map((name) => [
    name,
    () => join(root, 'models', name),
    'none',
  ]);
  const synthetic = ['none', 'int8', 'int4'].map((quantization) => [
    `llama-250m ${quantization === 'none' ? 'f16' : quantization}`,
    syntheticCheckpoint,
    quantization,
  ]);
  return [...shipped, ...synthetic].filter(([name]) => name.includes(options.only ?? ''));
}

function measure(folder, quantization) {
  const cache = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const run = (...more) => {
    const text = execFileSync(
      process.execPath,
      [join(root, 'scripts/bench/measure.mjs'), folder, quantization, ...more],
      {
        env: { ...process.env, MESA_SHADER_CACHE_DIR: cache },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
        maxBuffer: 2 ** 24,
      },
    );
    return JSON.parse(text);
  };
  try {
    const { start: cold } = run('--start');
    const { start: warm, ...measured } = run();
    return { quantization, cold, warm, ...measured };
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

function print(name, result) {
  console.log(`\n${name}`);
  for (const { name: what, value, note } of lines(result)) {
    console.log(`  ${what.padEnd(24)} ${value.padStart(12)}   ${note}`);
  }
  if (!options.profile || !result.steps.kernels) return;
  console.log('  a decoding step at 2,048 tokens, each dispatch in a pass of its own:');
  for (const { name: kernel, dispatches, ms } of result.steps.kernels) {
    console.log(
      `    ${kernel.padEnd(22)} ${String(dispatches).padStart(4)} × ${ms.toFixed(2).padStart(8)} ms`,
    );
  }
}

await setUp();
const results = {};
for (const [name, folder, quantization] of cases()) {
  const result = measure(folder(), quantization);
  results[name] = result;
  if (options.json) continue;
  if (Object.keys(results).length === 1) {
    const { adapter } = result;
    console.log(`${adapter.description || adapter.device}, ${availableParallelism()} CPU cores`);
  }
  const { gflops, gbytes } = result.ceilings;
  print(`${name}   (FMA peak ${gflops.toFixed(0)} GFLOP/s, load peak ${gbytes.toFixed(1)} GB/s)`, result);
}
if (options.json) console.log(JSON.stringify(results, null, 2));
