// States of a prompt that holds images, against transformers: embeddings of images stand in the place of tokens, and positions have
// three parts.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { textStates } from '../../../../src/engine/text/step/states.ts';
import { openWeights } from '../../../../src/engine/weights/weights.ts';
import { openComponentWeights } from '../../../../src/files/pipeline/pipeline-weights.ts';
import { openDiskFolder } from '../../../../src/files/source-disk.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { readText } from '../../../../src/models/text/registry.ts';
import { multimodalText } from '../../../../src/models/text/wrappers.ts';
import { qwenPlaces } from '../../../../src/models/vision/qwen-places.ts';
import type { WeightTable } from '../../../../src/models/weights.ts';
import { disguise, openTestDevice } from '../../../gpu/test-device.ts';
import { expectAgreement, openModuleGolden } from '../../../models/image-golden.ts';

const FOLDER = fileURLToPath(
  new URL('../../../golden/image/checkpoints/qwen-image/text_encoder', import.meta.url),
);
const IMAGE = 461;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  ['tuned', {}, false],
  ['plain', {}, true],
  ['bindings of 256 KiB', { bindingLimit: 256 << 10 }, false],
])('two images among words, %s', async (_, as, plain) => {
  const on = disguise(device, as);
  const golden = await openModuleGolden('qwen-text-images');
  const half = multimodalText(golden.config, golden.class)!;
  const declaration = readText(half.config, half.architecture);
  expect(declaration.inputs.positions).toBe(3);
  const files = await openComponentWeights(await openDiskFolder(FOLDER));
  const build = (table: WeightTable) => {
    table.ignore(/^visual\./);
    return declaration.embed!(table);
  };
  const weights = openWeights(on, files.tensors, build, { format: null });
  await weights.load();
  const ids = [...golden.inputs.get('input_ids')!.values];
  const { values: grids } = golden.inputs.get('grids')!;
  let [at, input] = [0, 0];
  const images = Array.from({ length: grids.length / 2 }, (__, i) => {
    const [rows, columns] = [grids[2 * i]!, grids[2 * i + 1]!];
    const first = ids.indexOf(IMAGE, at);
    at = first + rows * columns;
    const run = { first, end: at, input };
    input += rows * columns;
    return { run, image: { first, rows, columns } };
  });
  const places = qwenPlaces(
    ids.length,
    images.map(({ image }) => image),
  );
  const wanted = golden.outputs.get('positions')!.values;
  expect([0, 1, 2].flatMap((part) => places.map((place) => place[part]!))).toEqual([...wanted]);
  const { shape, values } = golden.inputs.get('images')!;
  const embeddings = on.tensor('step', 'images', [...shape], values);
  const made = await textStates(
    on,
    declaration,
    weights.page,
    { ids, images: { embeddings, runs: images.map(({ run }) => run) }, place: (token) => places[token]! },
    { plain },
  );
  const found = new Float32Array(await on.read(made.region!));
  expectAgreement(found.slice(0, ids.length * made.columns), golden.outputs.get('states')!);
  on.free(made.region!.buffer);
  on.free(embeddings.region!.buffer);
  weights.free();
  await Promise.all(files.sources.map((source) => source.close()));
});
