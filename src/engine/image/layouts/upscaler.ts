// Files of networks that enlarge images, in the names of Real-ESRGAN, of ESRGAN's authors, and of the programs before them. source:
// Real-ESRGAN's and BasicSR's archs, ESRGAN's RRDBNet_arch.py

import { type EngineError, unsupported } from '../../../files/error.ts';
import type { FileHeaders, PartConfig, PartLayout, Rename } from '../../../files/pipeline/file-layout.ts';
import type { PipelineComponents } from '../../../files/pipeline/pipeline-classes.ts';
import { UPSCALER_CLASSES } from '../../../models/image/upscalers/upscaler.ts';
import { Shapes } from './shapes.ts';

/** Prefixes of tensor names in files that were converted from Python pickles: names of dictionaries that held the weights there. */
const PREFIXES = ['', 'params_ema.', 'params.', 'model.'];

const CURRENT: PartLayout = {
  prefixes: PREFIXES,
  signs: ['conv_first.weight', 'body.0.rdb1.conv1.weight'],
  names: () => (name) => name,
  configure: rrdbNet,
};

const AUTHORS: PartLayout = {
  prefixes: PREFIXES,
  signs: ['conv_first.weight', 'RRDB_trunk.0.RDB1.conv1.weight'],
  names: () => (name) =>
    name
      .replace(/^RRDB_trunk\.(\d+)\.RDB/, 'body.$1.rdb')
      .replace(/^trunk_conv\./, 'conv_body.')
      .replace(/^upconv(\d)\./, 'conv_up$1.')
      .replace(/^HRconv\./, 'conv_hr.'),
  configure: rrdbNet,
};

/** Members of one list, whose doublings take three numbers and whose other layers take two. */
const NUMBERED: PartLayout = {
  prefixes: ['', 'params_ema.', 'params.'],
  signs: ['model.0.weight', 'model.1.sub.0.RDB1.conv1.0.weight'],
  names: numberedNames,
  configure: rrdbNet,
};

function numberedNames(headers: FileHeaders): Rename {
  const outer = [...headers.keys()].flatMap((name) => /^model\.(\d+)\.weight$/.exec(name)?.[1] ?? []);
  // The last two are at the size of the result; before them stand the doublings.
  const after = outer
    .map(Number)
    .toSorted((a, b) => a - b)
    .slice(1);
  const named = new Map(after.slice(0, -2).map((at, i) => [at, `conv_up${i + 1}`]));
  const [hr, last] = after.slice(-2);
  if (hr !== undefined && last !== undefined) named.set(hr, 'conv_hr').set(last, 'conv_last');
  named.set(0, 'conv_first');
  return (name) =>
    name
      .replace(/^model\.1\.sub\.(\d+)\.RDB(\d)\.conv(\d)\.0\./, 'body.$1.rdb$2.conv$3.')
      .replace(/^model\.1\.sub\.\d+\.(?=weight|bias)/, 'conv_body.')
      .replace(/^model\.(\d+)\./, (whole, at: string) => {
        const own = named.get(Number(at));
        return own === undefined ? whole : `${own}.`;
      });
}

const COMPACT: PartLayout = {
  prefixes: PREFIXES,
  signs: ['body.0.weight', 'body.0.bias', 'body.2.weight'],
  names: () => (name) => name,
  configure: srvggNetCompact,
};

const NONE: PartLayout = {
  prefixes: [''],
  signs: [],
  names() {
    throw refusal('the file holds none of the networks that enlarge images');
  },
  configure() {
    throw new Error('a file without a network has no configuration');
  },
};

/** Name of the component. */
export const UPSCALER = 'upscaler';

/** A network that enlarges what is decoded, which every pipeline may be given. */
export const UPSCALING: PipelineComponents = {
  [UPSCALER]: {
    kind: 'model',
    library: 'diffusers',
    classes: UPSCALER_CLASSES,
    role: 'upscaler',
    optional: true,
    onlyGiven: true,
    // The last one refuses what is none of the others.
    layouts: [CURRENT, AUTHORS, NUMBERED, COMPACT, NONE],
  },
};

function rrdbNet(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'network that enlarges images');
  const features = shapes.extent('conv_first.weight', 0);
  const channels = shapes.extent('conv_first.weight', 1);
  const unshuffle = [1, 2, 4].find((factor) => 3 * factor ** 2 === channels);
  if (unshuffle === undefined)
    throw refusal(`the network takes ${channels} channels of an image, and images have 3, 12 or 48`);
  const { length: ups } = [1, 2, 3, 4].filter((i) => headers.has(`conv_up${i}.weight`));
  if (ups > 3) throw refusal(`the network doubles an image ${ups} times`);
  return {
    className: 'RRDBNet',
    config: {
      num_feat: features,
      num_grow_ch: shapes.extent('body.0.rdb1.conv1.weight', 0),
      num_block: shapes.count((i) => `body.${i}.rdb1.conv1.weight`),
      num_up: ups,
      unshuffle,
    },
  };
}

function srvggNetCompact(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'network that enlarges images');
  // Convolutions have even numbers, and activations with slopes the odd ones between them.
  const convs = shapes.count((i) => `body.${2 * i}.weight`);
  if (headers.get('body.1.weight')?.shape.length !== 1)
    throw refusal(
      'the activations of the network have no slopes, and the file does not tell whether they are ReLU or leaky ReLU',
    );
  const pixels = shapes.extent(`body.${2 * (convs - 1)}.weight`, 0) / 3;
  const scale = [1, 2, 3, 4].find((one) => one ** 2 === pixels);
  if (shapes.extent('body.0.weight', 1) !== 3 || scale === undefined)
    throw refusal('the network does not enlarge images of three channels once to four times');
  return {
    className: 'SRVGGNetCompact',
    config: { num_feat: shapes.extent('body.0.weight', 0), num_conv: convs - 2, upscale: scale },
  };
}

function refusal(problem: string): EngineError {
  return unsupported(
    `${problem}: give an RRDBNet (ESRGAN, Real-ESRGAN x4plus, x2plus) or an SRVGGNetCompact with PReLU (realesr-animevideov3, realesr-general-x4v3)`,
    'upscalingModelPath',
  );
}
