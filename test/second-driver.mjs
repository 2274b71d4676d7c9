// Which tests run again on SwiftShader, which has subgroups of four, no f16 and a compiler of its own: those of a file whose full names match.
// What the host computes (strips, windows, ranges) and what other tests of the same kernel compile there already runs on the first driver only.

/** Cuts made by the host, which no driver takes part in. */
const CUTS =
  /256 KiB|above the binding limit|has workgroups, in ranges|few workgroups|several bindings|beyond one binding/;

const KERNELS = {
  'attention-phases': /^(2|12) queries a key/,
  conv2d: without(/tiles of 16 pixels/),
  'dispatch-work': without(/rows after a prompt/),
  gemm: /^(f32|int4) |gate and up/,
  'gated-delta': without(/discrete prompts/),
  'made-up-format': without(/whole tiles on a GPU/),
  matvec: /^(f32|f16|int8|int4|q6_k|mxfp4|nf4_64): sums|67 × 33|96 × 768|gate and up/,
  'norm-conv': without(/winograd/),
  profiles: without(/portable.*(integrated|discrete)/),
  sample: without(
    /temperature (0\.6|2)|top-k (1$|beyond|cuts)|top-p 0$|one token|once in a thousand|independently|a vocabulary of|whichever/,
  ),
  'sample-edits': /masks|penalties (all three change|are of)|no number|a batch/,
  'scale-and-cut': without(/^2 images/),
  tiling: without(/convolution, .*(winograd|discrete)/),
};

const MODELS = {
  'image/autoencoder-dc': /tuned dc-(shuffle-)?decode/,
  'image/autoencoder-kl': /tuned vae-(de|en)code/,
  'image/autoencoder-kl-flux2': /tuned vae-flux2-decode/,
  'image/autoencoder-qwen-image': /tuned vae-qwen-image-decode/,
  'image/autoencoder-tiny': /tuned tiny-decode/,
  'image/chroma': /tuned chroma/,
  'image/controlnet': /tuned controlnet-sdxl/,
  'image/flux': /tuned flux-references/,
  'image/flux2': /tuned flux2/,
  'image/ip-adapter': /tuned ip-adapter-sd1-plus/,
  'image/pixart': /tuned pixart-alpha/,
  'image/qwen-image': /tuned qwen-image-references/,
  'image/sana': /tuned sana-placed/,
  'image/sd3': /tuned sd3-dual/,
  'image/unet': /tuned unet-sdxl/,
  'image/z-image': /tuned z-image-padded/,
  // One family of each kind of layer: those with the same kernels differ in their numbers only.
  'text/decoder':
    /(^| )(qwen3|mistral-54|gemma2|gemma4-e|cohere2|gpt-oss-mxfp4|olmoe|qwen3-next|lfm2|starcoder2|gpt-neox) default/,
  'text/clip': /tuned clip-projection/,
  'text/t5': /tuned t5/,
  'vision/clip-vision': /tuned clip-vision/,
  'vision/gemma3': /tuned whole/,
  'vision/idefics3': /tuned smolvlm/,
  'vision/intern-vit': /tuned intern-vit qwen. of .*-original/,
  'vision/pixtral': /tuned mistral3/,
  'vision/qwen-vision': /tuned qwen-vision-small/,
};

const MEDIA = 'test/engine/text/media';

/** Test files that run in part, by path, and the tests that run of each. */
const IN_PART = {
  ...byPath('test/kernels', KERNELS),
  ...byPath('test/models', MODELS),
  [`${MEDIA}/towers.test.ts`]: /(qwen2-vl|qwen3-vl) image 1/,
  [`${MEDIA}/sound-towers.test.ts`]: /(qwen2-audio|voxtral) sound 1/,
  'test/engine/text/engine.test.ts': /qwen3 32 greedy tokens/,
};

export const SECOND_DRIVER_FILES = [
  'test/kernels/**/*.test.ts',
  ...Object.keys(IN_PART).filter((path) => !path.startsWith('test/kernels/')),
];

/**
 * @param {string} path of a test file, from the project's root
 * @returns {RegExp | undefined} which tests run on the second driver; left out: all
 */
export function secondDriverTests(path) {
  return IN_PART[path] ?? (path.startsWith('test/kernels/') ? without(CUTS) : undefined);
}

/** Every name in which these words do not occur, and no cut of the host. */
function without({ source }) {
  return new RegExp(`^(?!.*(${source}|${CUTS.source}))`);
}

function byPath(folder, files) {
  return Object.fromEntries(
    Object.entries(files).map(([name, tests]) => [`${folder}/${name}.test.ts`, tests]),
  );
}
