// Options of SVDQuant by the names of SGLang and our own: what plain weights of the denoiser are quantized with, and what a file that holds such weights
// must agree with.

import { badRequest, type EngineError } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import {
  GROUPS,
  nameOfSettings,
  PRECISIONS,
  USUAL,
  type SvdquantSettings,
} from '../weights/svdquant/settings.ts';

export interface QuantizerOptions {
  model: string;
  transformerWeightsPath?: string;
  enableSvdquant?: boolean;
  quantizerConfig?: Readonly<Record<string, unknown>>;
  quantizationPrecision?: SvdquantSettings['precision'];
  quantizationRank?: number;
  quantizationActUnsigned?: boolean;
}

type Stated = { [Key in keyof SvdquantSettings]?: SvdquantSettings[Key] };

export interface Quantizer {
  /** Settings by which weights of the checkpoint that are not quantized get a low-rank part; null: they stay as they are. */
  settings: SvdquantSettings | null;
  /** The values that the options state, which a quantized file may contradict, and the option that error messages name. */
  stated: Stated;
  by: keyof QuantizerOptions;
}

/** Names of files that SVDQuant made for nunchaku. */
const FILE_NAME = /svdq-(int4|fp4)_r(\d+)/;
const CONFIG = 'quantizerConfig';
/** Keys of settings, without `quantization_` before them. */
const KEYS = ['precision', 'rank', 'act_unsigned', 'group_size', 'smoothing'];
const GROUP_OF_FLOATS = 16;

/** Throws bad_request for settings that are unknown, contradict each other, or have no effect. */
export function quantizerOf(options: QuantizerOptions): Quantizer {
  const { enableSvdquant, quantizerConfig = {}, transformerWeightsPath, model } = options;
  const config = statedIn(quantizerConfig);
  const stated: Stated = {
    ...config,
    ...agreed('precision', config, options.quantizationPrecision, 'quantizationPrecision'),
    ...agreed('rank', config, options.quantizationRank, 'quantizationRank'),
  };
  if (options.quantizationActUnsigned === true) throw notRounded('quantizationActUnsigned');
  const named = FILE_NAME.exec(transformerWeightsPath ?? model);
  const { quantizationPrecision, quantizationRank } = options;
  const by =
    quantizationRank !== undefined
      ? 'quantizationRank'
      : quantizationPrecision !== undefined
        ? 'quantizationPrecision'
        : CONFIG;
  if (!(enableSvdquant ?? named !== null)) return { settings: null, stated, by };
  const ofName: Stated = named
    ? { precision: named[1] === 'fp4' ? 'nvfp4' : 'int4', rank: Number(named[2]) }
    : {};
  const settings = { ...USUAL, ...ofName, ...stated };
  if (settings.precision !== 'nvfp4') return { settings, stated, by };
  if (stated.groupKs !== undefined && stated.groupKs !== GROUP_OF_FLOATS)
    throw badRequest(
      say`${option(CONFIG)} has group_size ${stated.groupKs}, and nvfp4 has scales for ${GROUP_OF_FLOATS} inputs: leave it out`,
      CONFIG,
    );
  return { settings: { ...settings, groupKs: GROUP_OF_FLOATS }, stated, by };
}

/** What a file's tensors are quantized with; null: they have no low-rank part. */
export function lowRankIn(
  tensors: ReadonlyMap<string, TensorEntry>,
): Pick<SvdquantSettings, 'precision' | 'rank'> | null {
  const down = [...tensors.values()].filter(({ name }) => name.endsWith('.weight.down'));
  if (down.length === 0) return null;
  const isFloat = [...tensors.values()].some(({ dtype }) => dtype === 'NVFP4_32');
  return { precision: isFloat ? 'nvfp4' : 'int4', rank: Math.min(...down.map(({ shape }) => shape[0]!)) };
}

/** Throws bad_request where options state other values than a file of SVDQuant holds, or nothing that they would be for. */
export function checkStated(
  { settings, stated, by }: Quantizer,
  tensors: ReadonlyMap<string, TensorEntry>,
  path: string,
): void {
  const found = lowRankIn(tensors);
  const [first] = Object.keys(stated) as (keyof Stated)[];
  if (found === null) {
    if (settings !== null || first === undefined) return;
    throw badRequest(
      say`${option(by)} is a setting of SVDQuant, and ${path} holds none of its weights: add ${option('enableSvdquant')} to quantize it, or leave it out`,
      by,
    );
  }
  for (const key of ['precision', 'rank'] as const)
    if (stated[key] !== undefined && stated[key] !== found[key])
      throw badRequest(
        say`${option(by)} states ${key} ${stated[key]}, and ${path} was quantized with ${found[key]}: leave it out`,
        by,
      );
  if (stated.groupKs !== undefined || stated.smoothing !== undefined)
    throw badRequest(
      say`${option(by)} has group_size or smoothing, and ${path} is quantized already: leave them out`,
      by,
    );
}

/** Names what weights are quantized with, for reports. */
export const nameOfLowRank = (
  { settings }: Quantizer,
  tensors: ReadonlyMap<string, TensorEntry>,
): string | null => {
  const found = lowRankIn(tensors);
  if (found) return `svdq-${found.precision}_r${found.rank}`;
  return settings && nameOfSettings(settings);
};

function statedIn(config: Readonly<Record<string, unknown>>): Stated {
  const stated: Stated = {};
  for (const [given, value] of Object.entries(config)) {
    const key = given.replaceAll('-', '_').replace(/^quantization_/, '');
    if (key === 'precision') stated.precision = precisionOf(value);
    else if (key === 'rank')
      stated.rank = within(key, value, (rank) => Number.isInteger(rank) && rank > 0, 'an integer above 0');
    else if (key === 'group_size')
      stated.groupKs = within(
        key,
        value,
        (ks) => [...GROUPS, GROUP_OF_FLOATS].includes(ks),
        `${GROUPS.join(', ')}, or ${GROUP_OF_FLOATS} for nvfp4`,
      );
    else if (key === 'smoothing')
      stated.smoothing = within(key, value, (share) => share >= 0 && share <= 1, 'a number from 0 to 1');
    else if (key === 'act_unsigned') {
      if (value !== false && value !== 'false') throw notRounded(CONFIG);
    } else
      throw badRequest(
        say`${option(CONFIG)} has ${JSON.stringify(given)}, which is not known: its keys are ${KEYS.join(', ')}`,
        CONFIG,
      );
  }
  if (stated.groupKs === GROUP_OF_FLOATS && stated.precision !== 'nvfp4')
    throw invalid('group_size', GROUP_OF_FLOATS, `${GROUPS.join(', ')} for int4`);
  return stated;
}

function precisionOf(value: unknown): SvdquantSettings['precision'] {
  const found = PRECISIONS.find((one) => one === value);
  if (found === undefined) throw invalid('precision', value, PRECISIONS.join(' or '));
  return found;
}

function within(key: string, value: unknown, isAllowed: (number: number) => boolean, wanted: string): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number === 'number' && isAllowed(number)) return number;
  throw invalid(key, value, wanted);
}

const invalid = (key: string, value: unknown, wanted: string): EngineError =>
  badRequest(say`${option(CONFIG)} has ${key} ${JSON.stringify(value)}: give ${wanted}`, CONFIG);

/** An option in place of a key of the settings, unless both state different values. */
function agreed<Key extends keyof Stated>(
  key: Key,
  config: Stated,
  value: Stated[Key],
  name: keyof QuantizerOptions,
): Stated {
  if (value === undefined) return {};
  if (config[key] !== undefined && config[key] !== value)
    throw badRequest(
      say`${option(name)} is ${value}, and ${option(CONFIG)} has ${key} ${config[key]}: leave one of them out`,
      name,
    );
  return { [key]: value };
}

const notRounded = (name: keyof QuantizerOptions): EngineError =>
  badRequest(
    say`${option(name)} says how activations of 4 bits are rounded, and here they are not rounded to 4 bits: leave act_unsigned out, or false`,
    name,
  );
