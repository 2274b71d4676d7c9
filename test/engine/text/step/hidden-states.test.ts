// States of texts that image models read, against transformers: a prompt that holds images, whose embeddings stand in the place of tokens
// and whose positions have three parts, and prompts that padding fills up, after several layers.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textStates, type StatesText } from '../../../../src/engine/text/step/hidden-states.ts';
import { openWeights } from '../../../../src/engine/weights/weights.ts';
import { openComponentWeights } from '../../../../src/files/pipeline/pipeline-weights.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type { TextDeclaration, TextForward } from '../../../../src/models/text/blocks/architecture.ts';
import { readText, textClasses } from '../../../../src/models/text/registry.ts';
import { multimodalText, textAlone, textHalf } from '../../../../src/models/text/wrappers.ts';
import { qwenPlaces } from '../../../../src/models/vision/qwen/qwen-places.ts';
import type { WeightTable } from '../../../../src/models/weights.ts';
import { disguise, openTestDevice } from '../../../gpu/test-device.ts';
import { expectAgreement, openModuleGolden, type ModuleGolden } from '../../../models/image-golden.ts';

const CHECKPOINTS = fileURLToPath(new URL('../../../golden/image/checkpoints', import.meta.url));
const IMAGE = 461;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const WAYS = [
  ['tuned', {}, false],
  ['plain', {}, true],
  ['bindings of 256 KiB', { bindingLimit: 256 << 10 }, false],
] as const;

interface Encoder {
  /** Folder of the checkpoint. */
  folder: string;
  declaration: TextDeclaration;
  page(table: WeightTable): TextForward;
}

/** Asserts that the states of a text are those of the golden. */
async function expectStates(
  on: Device,
  { folder, declaration, page }: Encoder,
  text: StatesText,
  { golden, plain }: { golden: ModuleGolden; plain: boolean },
): Promise<void> {
  const files = await openComponentWeights(await openDiskFolder(`${CHECKPOINTS}/${folder}`));
  const weights = openWeights(on, files.tensors, page, { format: null });
  await weights.load();
  const made = await textStates(on, declaration, weights.page, text, { plain });
  const found = new Float32Array(await on.read(made.region!));
  const wanted = golden.outputs.get('states')!;
  const { columns, stride } = made;
  const rows = wanted.values.map((_, i) => found[Math.floor(i / columns) * stride + (i % columns)]!);
  expectAgreement(rows, wanted);
  on.free(made.region!.buffer);
  weights.free();
  await Promise.all(files.sources.map((source) => source.close()));
}

it.each(WAYS)('states of two images among words, %s', async (_, as, plain) => {
  const on = disguise(device, as);
  const golden = await openModuleGolden('qwen-text-images');
  const half = multimodalText(golden.config, golden.class)!;
  const declaration = readText(half.config, half.architecture);
  expect(declaration.inputs.positions).toBe(3);
  const page = (table: WeightTable) => {
    table.ignore(/^visual\./);
    return declaration.embed!(table);
  };
  const ids = [...golden.inputs.get('input_ids')!.values];
  const { values: grids } = golden.inputs.get('grids')!;
  let [at, input] = [0, 0];
  const shown = Array.from({ length: grids.length / 2 }, (__, i) => {
    const [rows, columns] = [grids[2 * i]!, grids[2 * i + 1]!];
    const first = ids.indexOf(IMAGE, at);
    at = first + rows * columns;
    const run = { first, end: at, input };
    input += rows * columns;
    return { run, placed: { runs: [run], grid: { times: [0], rows, columns } } };
  });
  const places = qwenPlaces(
    ids.length,
    shown.map(({ placed }) => placed),
  );
  const wanted = golden.outputs.get('positions')!.values;
  expect([0, 1, 2].flatMap((part) => places.map((place) => place[part]!))).toEqual([...wanted]);
  const { shape, values } = golden.inputs.get('images')!;
  const embeddings = on.tensor('step', 'images', [...shape], values);
  const images = { embeddings, runs: shown.map(({ run }) => run) };
  const text = { ids, images, place: (token: number) => places[token]! };
  await expectStates(on, { folder: 'qwen-image/text_encoder', declaration, page }, text, { golden, plain });
  on.free(embeddings.region!.buffer);
});

describe.each([
  ['flux2-texts', 'flux2/text_encoder', [10, 20, 30]],
  ['flux2-klein-texts', 'flux2-klein/text_encoder', [9, 18, 27]],
  ['hunyuan-texts', 'hunyuan/text_encoder', [2]],
])('states of %s: padding, after several layers', (name, folder, depths) => {
  it.each(WAYS)('%s', async (_, as, plain) => {
    const golden = await openModuleGolden(name);
    const isAlone = textClasses().some((one) => one.name === golden.class);
    const half = isAlone
      ? { config: golden.config, architecture: golden.class }
      : (textAlone(golden.config, golden.class) ?? textHalf(golden.config, golden.class))!;
    const declaration = readText(half.config, half.architecture);
    const page = (table: WeightTable) => {
      table.ignore(/^(model\.)?(vision_tower|multi_modal_projector)\./);
      return declaration.states!(table, depths);
    };
    const mask = golden.inputs.get('attention_mask')!.values;
    const ids = [...golden.inputs.get('input_ids')!.values];
    const padding = {
      id: ids.find((__, i) => mask[i] === 0)!,
      count: mask.filter((value) => value === 0).length,
      side: mask[0] === 0 ? ('before' as const) : ('behind' as const),
    };
    const text = { ids: ids.filter((__, i) => mask[i] === 1), padding };
    await expectStates(disguise(device, as), { folder, declaration, page }, text, { golden, plain });
  });
});
