// npm run bench: how fast models run here, beside what the adapter could do in the same run.
//   node scripts/bench.mjs [--only TEXT] [--profile] [--json]
//   --only int4      the cases whose name has this text; cases: the shipped models; a synthetic Llama of 250 M in f16, int8, int4, and in
//                    the Q4_0, Q8_0 and Q4_K_M of GGUF files; a synthetic Gemma 3 and a synthetic Qwen3.5 of 250 M in int4; a synthetic gpt-oss with
//                    250 M weights a token, its experts in MXFP4;
//                    "cache, …": conversations with and without the prefix cache, and new tokens after shared ones from each tier;
//                    "picture, …": a question about a picture, and a second one, on towers of fewer layers;
//                    grammar: compiling constraints, and their masks over 151,000 tokens;
//                    constrained: decoding under a grammar beside free decoding;
//                    "images, …": synthetic SD1 with a narrow UNet, SD1.5; Z-Image, Qwen-Image, FLUX.1 and SD3.5 medium of fewer layers
//                    "videos, …": Wan 2.1 of fewer layers
//   --profile        also the time of each kernel: in a decoding step at 2,048 tokens; in a step and in decoding an image
//   --json           everything that was measured, for machines
// Each case runs in a process of its own, first with an empty shader cache. On a software adapter, where other programs share the
// cores, rates are for quiet cores: tokens ÷ CPU time of the process × cores; the wall clock's rates are in the JSON.
// Other engines are measured apart from this, on the same machine and checkpoint shape; nothing here needs them.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cacheCases } from './bench/cache.mjs';
import { syntheticCheckpoint, wordyCheckpoint } from './bench/checkpoint.mjs';
import { gemmaCheckpoint } from './bench/gemma.mjs';
import { ggufFile, MIXES } from './bench/gguf.mjs';
import { gptOssCheckpoint } from './bench/gpt-oss.mjs';
import { hybridCheckpoint } from './bench/hybrid.mjs';
import { constrainedLines, grammarLines } from './bench/grammar-table.mjs';
import { seeingCases } from './bench/seeing.mjs';
import { lines } from './bench/table.mjs';
import { setUp } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values: options } = parseArgs({
  options: { only: { type: 'string' }, profile: { type: 'boolean' }, json: { type: 'boolean' } },
});

/** Models that ship, [name, folder]. */
function shipped(isImages) {
  return readdirSync(join(root, 'models'))
    .map((name) => [name, join(root, 'models', name)])
    .filter(([, folder]) => existsSync(join(folder, 'model_index.json')) === isImages);
}

/** Each case: name; what runs in fresh processes and gives its figures; lines and kernel times of the figures. */
async function cases() {
  // The image cases import the build, which set-up may only just have made.
  const { imageCases } = await import('./bench/images.mjs');
  const { imageKernels, imageLines } = await import('./bench/image-table.mjs');
  const text = [
    ...shipped(false).map(([name, folder]) => [name, () => folder, 'none']),
    ...['none', 'int8', 'int4'].map((quantization) => [
      `llama-250m ${quantization === 'none' ? 'f16' : quantization}`,
      syntheticCheckpoint,
      quantization,
    ]),
    ...Object.keys(MIXES).map((mix) => [`llama-250m ${mix}`, () => ggufFile(mix), 'none']),
    ['gemma-250m int4', gemmaCheckpoint, 'int4'],
    ['hybrid-250m int4', hybridCheckpoint, 'int4'],
    ['gpt-oss-250m mxfp4', gptOssCheckpoint, 'none'],
  ].map(([name, folder, quantization]) => ({
    name,
    measure(run) {
      const { start: cold } = run('measure.mjs', folder(), quantization, '--start');
      const { start: warm, ...measured } = run('measure.mjs', folder(), quantization);
      return { quantization, cold, warm, ...measured };
    },
    lines,
    kernels: ({ steps }) =>
      steps.kernels
        ? [
            {
              title: 'a decoding step at 2,048 tokens, each dispatch in a pass of its own',
              kernels: steps.kernels,
            },
          ]
        : [],
  }));
  const images = imageCases(shipped(true)).map(({ name, folder, request, pictures, measured }) => ({
    name,
    measure(run) {
      const args = ['measure-image.mjs', folder(), JSON.stringify(request), String(pictures)];
      const cold = run(...args, '--start');
      return { cold, ...run(...args, ...(options.profile ? ['--profile'] : [])) };
    },
    lines: (result) => imageLines(result, measured),
    kernels: (result) => imageKernels(result, measured),
  }));
  const grammar = {
    name: 'grammar',
    measure: (run) => run('measure-grammar.mjs'),
    lines: grammarLines,
    kernels: () => [],
  };
  const constrained = {
    name: 'constrained, llama-250m int4 with 151,936 tokens',
    measure: (run) => run('measure-constrained.mjs', wordyCheckpoint()),
    lines: constrainedLines,
    kernels: () => [],
  };
  return [...text, ...cacheCases(shipped(false)), ...seeingCases(), grammar, constrained, ...images].filter(
    ({ name }) => name.includes(options.only ?? ''),
  );
}

/** Runs a measurement whose processes share a shader cache, empty at first. */
function inFreshProcesses(measure) {
  const cache = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const run = (script, ...args) => {
    const text = execFileSync(process.execPath, [join(root, 'scripts/bench', script), ...args], {
      env: { ...process.env, MESA_SHADER_CACHE_DIR: cache },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      maxBuffer: 2 ** 24,
    });
    return JSON.parse(text);
  };
  try {
    return measure(run);
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

function print({ lines: toLines, kernels: toKernels }, title, result) {
  console.log(`\n${title}`);
  for (const { name: what, value, note } of toLines(result)) {
    console.log(`  ${what.padEnd(24)} ${value.padStart(12)}   ${note}`);
  }
  if (!options.profile) return;
  for (const { title: what, kernels } of toKernels(result)) {
    console.log(`  ${what}:`);
    for (const { name: kernel, dispatches, ms } of kernels) {
      console.log(
        `    ${kernel.padEnd(22)} ${String(dispatches).padStart(4)} × ${ms.toFixed(2).padStart(8)} ms`,
      );
    }
  }
}

await setUp();
const results = {};
let isNamed = false;
for (const each of await cases()) {
  const result = inFreshProcesses(each.measure);
  results[each.name] = result;
  if (options.json) continue;
  // Grammars do not depend on an adapter.
  const { adapter, ceilings } = result;
  if (adapter && !isNamed) {
    isNamed = true;
    console.log(`${adapter.description || adapter.device}, ${availableParallelism()} CPU cores`);
  }
  const peaks = ceilings
    ? `   (FMA peak ${ceilings.gflops.toFixed(0)} GFLOP/s, load peak ${ceilings.gbytes.toFixed(1)} GB/s)`
    : '';
  print(each, each.name + peaks, result);
}
if (options.json) console.log(JSON.stringify(results, null, 2));
