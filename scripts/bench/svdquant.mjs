// How near images with weights in 4 bits come to those of plain weights: PSNR and SSIM, by the middle of several seeds.
//   node scripts/bench/svdquant.mjs [FOLDER] [SEEDS]
// FOLDER is a pipeline, left out: the one that ships; it is measured as it is, and with one column of each matrix in 32 eight times as large.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IMAGE } from '../../dist/host/kinds/image.js';
import { nodePlatform } from '../../dist/host/node/platform.js';
import { openInline } from '../../dist/host/open.js';

const SHIPPED = fileURLToPath(new URL('../../models/svc-scenes-mini', import.meta.url));
const PROMPT = 'a red balloon over snowy mountains at sunset';
/** Few, since sampling takes small differences far apart. */
const STEPS = 4;
const EVERY = 32;
const svdquant = (quantizerConfig) => ({ enableSvdquant: true, quantizerConfig });
/** @type {[name: string, options: object][]} */
const WAYS = [
  ['int4 of all weights', { quantization: 'int4' }],
  ['int4, rank 1', svdquant({ rank: 1 })],
  ['int4, rank 16', svdquant({ rank: 16 })],
  ['int4, rank 32', svdquant({ rank: 32 })],
  ['int4, rank 32, groups of 32', svdquant({ rank: 32, group_size: 32 })],
  ['int4, rank 32, smoothing 0.5', svdquant({ rank: 32, smoothing: 0.5 })],
  ['nvfp4, rank 32', svdquant({ precision: 'nvfp4', rank: 32 })],
];

/** A copy of a pipeline whose UNet has outliers: numbers in f16, multiplied exactly. */
function withOutliers(folder) {
  const copy = mkdtempSync(join(tmpdir(), 'svc-outliers-'));
  cpSync(folder, copy, { recursive: true });
  const path = join(copy, 'unet', 'diffusion_pytorch_model.safetensors');
  const bytes = readFileSync(path);
  const begin = 8 + Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.toString('utf8', 8, begin));
  for (const { dtype, shape, data_offsets: offsets } of Object.values(header)) {
    if (dtype !== 'F16' || shape?.length !== 2) continue;
    for (let at = begin + offsets[0], i = 0; at < begin + offsets[1]; at += 2, i++) {
      const bits = bytes.readUInt16LE(at);
      const exponent = (bits >> 10) & 31;
      const isOutlier = (i % shape[1]) % EVERY === 5;
      if (isOutlier && exponent > 0 && exponent < 27) bytes.writeUInt16LE(bits + (3 << 10), at);
    }
  }
  writeFileSync(path, bytes);
  return copy;
}

async function drawn(model, options, seeds) {
  const opened = await openInline(IMAGE, nodePlatform, { model, ...options });
  const images = [];
  try {
    for (let seed = 1; seed <= seeds; seed++)
      for await (const event of opened.generate({ prompt: PROMPT, seed, steps: STEPS }))
        if (event.type === 'image') images.push(event.image);
  } finally {
    await opened.close();
  }
  return images;
}

function psnr(a, b) {
  const error = a.data.reduce((sum, value, i) => sum + (value - b.data[i]) ** 2, 0) / a.data.length;
  return 10 * Math.log10(255 ** 2 / error);
}

const WINDOW = 7;
const [C1, C2] = [(0.01 * 255) ** 2, (0.03 * 255) ** 2];

/** The mean over all windows of grey values. */
function ssim(a, b) {
  const { width, height } = a;
  const grey = ({ data }) =>
    Float64Array.from(
      { length: width * height },
      (_, i) => 0.299 * data[3 * i] + 0.587 * data[3 * i + 1] + 0.114 * data[3 * i + 2],
    );
  const [x, y] = [grey(a), grey(b)];
  const count = WINDOW ** 2;
  let [sum, windows] = [0, 0];
  for (let top = 0; top + WINDOW <= height; top++)
    for (let left = 0; left + WINDOW <= width; left++) {
      let [sx, sy, sxx, syy, sxy] = [0, 0, 0, 0, 0];
      for (let i = 0; i < count; i++) {
        const at = (top + Math.floor(i / WINDOW)) * width + left + (i % WINDOW);
        sx += x[at];
        sy += y[at];
        sxx += x[at] ** 2;
        syy += y[at] ** 2;
        sxy += x[at] * y[at];
      }
      const [mx, my] = [sx / count, sy / count];
      const [vx, vy, cov] = [sxx / count - mx ** 2, syy / count - my ** 2, sxy / count - mx * my];
      sum += ((2 * mx * my + C1) * (2 * cov + C2)) / ((mx ** 2 + my ** 2 + C1) * (vx + vy + C2));
      windows++;
    }
  return sum / windows;
}

const middle = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

async function measured(folder, seeds) {
  const plain = await drawn(folder, {}, seeds);
  const found = [];
  for (const [, options] of WAYS) {
    const images = await drawn(folder, options, seeds);
    const of = (measure) => middle(images.map((image, i) => measure(image, plain[i])));
    found.push(`${of(psnr).toFixed(1)} dB, ${of(ssim).toFixed(3)}`);
  }
  return found;
}

const [folder = SHIPPED, seeds = '5'] = process.argv.slice(2);
const outliers = withOutliers(folder);
try {
  const columns = [await measured(folder, Number(seeds)), await measured(outliers, Number(seeds))];
  console.log('| Weights | As it ships | With outliers |\n| --- | --- | --- |');
  for (const [i, [name]] of WAYS.entries()) console.log(`| ${name} | ${columns[0][i]} | ${columns[1][i]} |`);
} finally {
  rmSync(outliers, { recursive: true });
}
