// Which tests run on which driver, by full names. SwiftShader has subgroups of four, no f16 and a compiler of its own, so that tests of kernels and
// of some models run there, too; what the host computes (strips, windows, ranges) and what other tests of the same kernel compile there already
// runs on one driver only. SwiftShader compiles a kernel in a tenth of the time of llvmpipe: of kernels with many variants the first driver
// runs some of each kind where SwiftShader runs the others, and of models it runs none with naive kernels. In the plain `npm test` SwiftShader then runs
// only those others; with `--all` both drivers run what is named here.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/setup/packages.mjs';
import { IS_WHOLE } from './left-out.mjs';

/** Cuts made by the host, which no driver takes part in. */
export const CUTS =
  /256 KiB|above the binding limit|has workgroups, in ranges|few workgroups|several bindings|beyond one binding/;

/** Files whose cuts need kernels that their other tests on the first driver do not. */
const EVERY = /^/;

const KERNELS = {
  attend: EVERY,
  'attend-choice': EVERY,
  'attention-phases': /^(1|2|12) queries a key|^pages in/,
  conv2d: /^(?!.*tiles of 16 pixels)/,
  'dispatch-work': without(/rows after a prompt/),
  'gemm-int8': without(/binding limit/),
  'gated-delta': without(/discrete prompts/),
  'made-up-format': without(/whole tiles on a GPU/),
  layernorm: EVERY,
  logprobs: without(/many workgroups|151936/),
  matmul: EVERY,
  matvec: without(/67 × 1100|7 × 2100/),
  'norm-conv': without(/winograd/),
  profiles: without(/portable.*(integrated|discrete)/),
  sample: without(
    /temperature (0\.6|2)|top-k (1$|beyond|cuts)|top-p 0$|one token|once in a thousand|independently|a vocabulary of|whichever/,
  ),
  'sample-parts': /beside it/,
  'sample-edits': /masks|penalties (all three change|are of)|no number|a batch/,
  'scale-and-cut': without(/^2 images/),
  tiling: without(/convolution, .*(winograd|discrete)/),
};

/** Of files whose other tests run on SwiftShader: those that run on the first driver. */
const FIRST = {
  alibi: /^cpu|^discrete, pages in f16|coded/,
  attend:
    /the adapter as it is' (heads of (8|40|128)$|one head|causal, 53|a bias by distance, 38|77 keys|keys of each|scores)|no subgroups' heads of 40|several teams|segments/,
  'attend-choice': /^flash computes|heads of 4$|a window of frames|on an adapter|a lane of/,
  'attention-distances': /^6 heads|refused/,
  'attention-latent': /chosen|codes|pairs half f16/,
  attention:
    /in chunks 12 queries a key|cap 1\.5|3 queries a key, 24 dims, window null|pages in f16 80|without subgroups 16|overflow/,
  'attention-phases': /^4 queries a key|^attention /,
  'attention-segments': /^without/,
  'channel-norm': /^\d|^a norm/,
  conv2d:
    /the adapter as it is (f16|int4|images of 11|stride 2, padding same|upsampled: true|\{"perImage":true,"residual")|(as it is|of 64 pixels)': right, and a batch|tiles of 16|assertion/,
  'cumulative-norm': /'cpu'/,
  'dispatch-work': /^(rows after|queries of|a context|CPU adapters)|"cpu"|convolution, \{"profile"/,
  'expert-biases': /as it is|windows/,
  experts: /the adapter as it is' f16|'rows of a decode step|on a GPU, in windows|a plan/,
  'gated-delta': /discrete prompts|cpu prompts .*run: 4|a batch|mistake/,
  'gather-tokens': /gather keys|let keys go around see/,
  gemm: /^int4 |binding limit/,
  'gemm-int8': /^int4: sums|binding limit/,
  'head-linear': /bf16|a GPU, in windows/,
  layernorm:
    /^'layer' norm, weights true, shift false, scale true|^'rms' norm, weights true, shift true|^[^']/,
  lora: /^the adapter as it is: (three|gate)|GPU: three|^rows (beyond|without|must)/,
  matmul:
    /the adapter as it is (add, bias true|swiglu, bias true)|as it is: .*: (f16|int4)$|K split: |sum alike|assertion/,
  'matmul-stores': /from end to end|as it is linear, then gelu|strips/,
  'made-up-format': /few rows|on a GPU/,
  matrix: /^f32 packed|^bf16 packed as f16|^(?!(f32|f16|bf16) packed)/,
  matvec: /^(q6_k|mxfp4): |67 × 1100|7 × 2100|64 KiB|gate and up|^rows of prompts/,
  'matvec-int8': /^q2_k: sums|67 × 1100|^(formats|only)/,
  'norm-conv': /winograd|"stripRows":1\}|^the convolution/,
  normed: /^int4, 67|^dispatches/,
  'place-scales': /u4_32 of .*"byRow":true|along rows, by row|affine4_32_f16|nvfp4_64/,
  'place-terms': /portable: true|bindingLimit|on \{\}$/,
  quantise: /^stored as f32/,
  rmsnorm: /profile cpu|^128 |^values|256 KiB/,
  'rope-kv':
    /cpu, pages in f16, (plain heads \d.* 128|normed heads \d.* 26|plain heads that.* 26)$|discrete, pages in f16, plain heads \d.* 128$|turned heads .* 22$|alone|gates|mistake/,
  'rope-kv-codes': /^'int8'.* (54|256)$|^int8/,
  route: /^131 experts|count: 8, chosen: 4|^tiles|^a router|^groups|^more/,
  sample:
    /greedy|temperature (0\.6|2)|top-k (1$|beyond|cuts)|top-p 0$|one token|once in a thousand|independently|a vocabulary of|whichever/,
  'selective-scan':
    /^(?!.*(spread|heads: 6, dims: 68|profile discrete prompts.*stateDims: 1[23]|steps that are cut))/,
  'stored-formats': /^(q4_k|q6_k) |^q6_k: gate and up/,
  'stream-predict': /^cpu|10240|mistake/,
  tiling: /^matmul, \{"rows":4|convolution, .*(winograd|discrete)/,
  winograd: /"channels":(1|330),|"channels":5,"out":7,"batch":2,"upsample"|256 KiB|a batch is|refuses/,
};

const MODELS = {
  'image/autoencoders/autoencoder-dc': /tuned dc-(shuffle-)?decode/,
  'image/autoencoders/autoencoder-kl': /tuned vae-(de|en)code/,
  'image/autoencoders/autoencoder-kl-flux2': /tuned vae-flux2-decode/,
  'image/autoencoders/autoencoder-ltx': /tuned vae-ltx-timed-decode/,
  'image/autoencoders/autoencoder-wan': /clips tuned vae-wan-residual-decode/,
  'image/autoencoders/autoencoder-tiny': /tuned tiny-decode/,
  'image/autoencoders/taehv': /tuned taehv-patched/,
  'image/chroma': /tuned chroma/,
  'image/clips/ltx': /tuned ltx-frames/,
  'image/clips/wan': /tuned wan-(frames|image)/,
  'image/unet/controlnet': /tuned controlnet-sdxl/,
  'image/flux': /tuned flux-references/,
  'image/flux2': /tuned flux2/,
  'image/unet/ip-adapter': /tuned ip-adapter-sd1-plus/,
  'image/lumina2': /tuned lumina2/,
  'image/pixart': /tuned pixart-alpha/,
  'image/qwen-image': /tuned qwen-image-references/,
  'image/sana': /tuned sana-placed/,
  'image/sd3': /tuned sd3-dual/,
  'image/unet/unet': /tuned unet-sdxl/,
  'image/z-image': /tuned z-image-padded/,
  // One family of each kind of layer: those with the same kernels differ in their numbers only.
  'text/blocks/decoder':
    /(^| )(qwen3|mistral-54|gemma2|gemma4-e|cohere2|gpt-oss-mxfp4|olmoe|qwen3-next|lfm2|granite-hybrid|starcoder2|gpt-neox|deepseek-v32|bloom) default: logits/,
  'text/clip/clip': /tuned clip-projection/,
  'text/t5/t5': /tuned t5/,
  'vision/clip-vision': /tuned clip-vision/,
  'vision/gemma3': /tuned whole/,
  'vision/idefics3': /tuned smolvlm/,
  'vision/internvl/intern-vit': /tuned intern-vit qwen. of .*-original/,
  'vision/pixtral': /tuned mistral3/,
  'vision/qwen/qwen-vision': /tuned qwen-vision-small/,
};

/** Towers whose tests compute with naive kernels, too. */
const TOWERS = [
  'vision/gemma3',
  'vision/gemma4',
  'vision/idefics3',
  'vision/internvl/intern-vit',
  'vision/pixtral',
];

/** Models with tests of naive kernels: these towers, and modules that `describeGoldens` of test/models/image-golden.ts computes in every way. */
const WITH_NAIVE = [...TOWERS, ...filesWith('test/models', 'describeGoldens(')];
const NAIVE = /(^| )plain /;

/** Of models: the tests that run on the first driver. */
const FIRST_MODELS = Object.fromEntries(WITH_NAIVE.map((name) => [name, /^(?!(.* )?plain )/]));

/** Test files that run in part, by path, and the tests that run of each. */
const IN_PART = {
  ...byPath('test/kernels', KERNELS),
  ...byPath('test/models', MODELS),
  ...byPath('test/models', Object.fromEntries(WITH_NAIVE.map((name) => [name, either(NAIVE, MODELS[name])]))),
  'test/engine/text/towers/towers.test.ts': /(qwen2-vl|qwen3-vl) image 1/,
  'test/engine/text/media/sound-towers.test.ts': /(qwen2-audio|voxtral) sound 1/,
};

const FIRST_IN_PART = { ...byPath('test/kernels', FIRST), ...byPath('test/models', FIRST_MODELS) };

export const SECOND_DRIVER_FILES = [
  'test/kernels/**/*.test.ts',
  ...Object.keys(IN_PART).filter((path) => !path.startsWith('test/kernels/')),
];

/** Files of which no test can run without f16. */
export const NEEDS_F16 = ['test/kernels/conv2d-matrix.test.ts', 'test/kernels/gemm-matrix.test.ts'];

/**
 * @param {boolean} isSecond whether the second driver runs them
 * @param {string} path of a test file, from the project's root
 * @returns {RegExp | undefined} which tests run on the driver; left out: all
 */
export function testsOnDriver(isSecond, path) {
  const first = FIRST_IN_PART[path];
  if (!isSecond) return first;
  const second = IN_PART[path] ?? (path.startsWith('test/kernels/') ? without(CUTS) : undefined);
  if (IS_WHOLE || first === undefined || second === undefined) return second;
  return new RegExp(`^(?!.*?(?:${first.source}))(?=.*?(?:${second.source}))`);
}

/** Every name in which these words do not occur, and no cut of the host. */
function without({ source }) {
  return new RegExp(`^(?!.*(${source}|${CUTS.source}))`);
}

/** Names of test files below a folder whose text has these words. */
function filesWith(folder, words) {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return files
    .map((file) => file.replaceAll('\\', '/'))
    .filter(
      (file) => file.endsWith('.test.ts') && readFileSync(join(root, folder, file), 'utf8').includes(words),
    )
    .map((file) => file.slice(0, -'.test.ts'.length));
}

/** Names in which one of two patterns matches; the second may be left out. */
function either({ source }, other) {
  return other === undefined ? new RegExp(source) : new RegExp(`${source}|${other.source}`);
}

function byPath(folder, files) {
  return Object.fromEntries(
    Object.entries(files).map(([name, tests]) => {
      const path = `${folder}/${name}.test.ts`;
      if (!existsSync(join(root, path)))
        throw new Error(`test/second-driver.mjs names ${path}, which is not there`);
      return [path, tests];
    }),
  );
}
