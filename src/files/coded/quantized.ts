// Weights that another program quantized: where that is declared, the method, and the number of bits. Methods that are not computed
// are refused before any weights are read, because their tensors would otherwise only be reported as missing or of a wrong shape.

import { isRead, type Declared } from './methods.ts';
import { isRecord, readJson, type Folder } from '../source.ts';

export interface Quantized extends Declared {
  /** Bits of a weight, ascending; several where layers differ, none where nothing says. */
  bits: readonly number[];
  /** Whether its tensors are read as they are. */
  isRead: boolean;
  /** The member and file that declare it, for messages. */
  where: string;
  file: string;
}

/** Members of a configuration that declare it: transformers' and diffusers', compressed-tensors' before 2025, MLX's. */
const MEMBERS = ['quantization_config', 'compression_config', 'quantization'];
/** Files that declare it: those of diffusers' tools, ModelOpt, AutoGPTQ, AutoAWQ, Quanto. */
const FILES = [
  'quantization_config.json',
  'hf_quant_config.json',
  'quantize_config.json',
  'quant_config.json',
  'quanto_qmap.json',
];

/** The declaration in the configuration `file`; null: there is none. */
export function quantizedBy(config: Readonly<Record<string, unknown>>, file: string): Quantized | null {
  const member = MEMBERS.find((key) => isRecord(config[key]) && Object.keys(config[key]).length > 0);
  if (member === undefined) return null;
  const settings = config[member] as Record<string, unknown>;
  const method = methodOf(settings) ?? (member === 'quantization' ? 'MLX' : null);
  return {
    method,
    settings,
    bits: widthsOf(settings),
    isRead: isRead({ method, settings }),
    where: `${member} in ${file}`,
    file,
  };
}

/** The file that declares it beside a configuration; undefined: none. */
export const quantizedBeside = (names: readonly string[]): string | undefined =>
  FILES.find((name) => names.includes(name));

/** The declaration in a folder's configuration, or in a file beside it; null: there is none. Throws bad_checkpoint for a broken file. */
export async function quantizedFolder(
  folder: Folder,
  names: readonly string[],
  config: Readonly<Record<string, unknown>>,
): Promise<Quantized | null> {
  const declared = quantizedBy(config, 'config.json');
  const beside = quantizedBeside(names);
  if (declared !== null || beside === undefined) return declared;
  const json: Record<string, unknown> = await readJson(folder, beside);
  if (Object.keys(json).length === 0) return null;
  // ModelOpt's has its settings one level down.
  const settings = isRecord(json['quantization']) ? json['quantization'] : json;
  const producer = isRecord(json['producer']) ? json['producer']['name'] : undefined;
  const named = {
    'hf_quant_config.json': 'ModelOpt',
    'quantize_config.json': 'GPTQ',
    'quant_config.json': 'AWQ',
  };
  const stated = methodOf(settings) ?? (typeof producer === 'string' ? producer : null);
  const method = stated ?? Object.entries(named).find(([file]) => file === beside)?.[1] ?? null;
  return {
    method,
    settings,
    bits: widthsOf(settings),
    isRead: isRead({ method, settings }),
    where: beside,
    file: beside,
  };
}

/** Names that methods give to codes, scales and offsets: GPTQ, AWQ, Nunchaku, ModelOpt, FP8, compressed-tensors, bitsandbytes. */
const CODES =
  /\.(qweight|qzeros|scales|wscales|weight_scale(_inv|_2)?|weight_packed|weight\.absmax|absmax|SCB)$/;
const CODE_DTYPES = ['F8_E4M3', 'F8_E5M2', 'F8_E8M0', 'F4', 'I8', 'U8', 'I32', 'U32'];

/** The tensor that shows that weights are codes with scales, not numbers; null: there is none. */
export function quantizedSign(
  tensors: ReadonlyMap<string, Readonly<{ name: string; dtype: string }>>,
): string | null {
  for (const { name, dtype } of tensors.values()) {
    if (CODES.test(name)) return `tensor ${name}`;
    if (CODE_DTYPES.includes(dtype) && name.endsWith('weight')) return `${name} is ${dtype}`;
  }
  return null;
}

/** " with modelopt (NVFP4) to 4 bits", for messages; '' where nothing is known. */
export function describeQuantized({
  method,
  settings,
  bits,
}: Pick<Quantized, 'method' | 'settings' | 'bits'>): string {
  const { quant_algo: algorithm } = settings;
  const named = typeof algorithm === 'string' && algorithm !== method ? ` (${algorithm})` : '';
  return `${method === null ? '' : ` with ${method}${named}`}${bits.length === 0 ? '' : ` to ${bits.join(' and ')} bits`}`;
}

/** Quantization method: the name in the settings, or the method that their keys imply. */
function methodOf(settings: Record<string, unknown>): string | null {
  const { quant_method: method, quant_algo: algorithm } = settings;
  if (typeof method === 'string') return method;
  if (LOADED.some(({ keys }) => keys.some((key) => settings[key] === true))) return 'bitsandbytes';
  if (typeof algorithm === 'string') return algorithm;
  const isMlx = typeof settings['bits'] === 'number' && 'group_size' in settings && !('desc_act' in settings);
  return isMlx ? 'MLX' : null;
}

const LOADED = [
  { keys: ['load_in_4bit', '_load_in_4bit'], bits: 4 },
  { keys: ['load_in_8bit', '_load_in_8bit'], bits: 8 },
];
const BIT_KEYS = ['bits', 'w_bit', 'nbits', 'num_bits'];
/** Settings whose values contain the number of bits, like NVFP4, W4A16, int8wo, e4m3. */
const WORD_KEYS = ['quant_algo', 'quant_type', 'weights', 'weights_dtype', 'fmt', 'quant_method'];
const WORDS: readonly [RegExp, number][] = [
  [/(fp|int|uint|nf|w)4|4bit|e2m1/i, 4],
  [/(fp|int|uint|float|w)8|8bit|e4m3|e5m2|eetq/i, 8],
];
/** Levels of settings that are looked through: config_groups → group → weights. */
const LEVELS = 4;
/** Settings of what is not a weight: activations, caches, and HQQ's scales and offsets have bits of their own. */
const NO_WEIGHTS = /activation|kv_cache|scale|zero/;

/** Bits of a weight, ascending; several where the settings give layers different ones. */
function widthsOf(settings: Record<string, unknown>): number[] {
  return [...new Set(bitsWithin(settings, LEVELS))].toSorted((a, b) => a - b);
}

function bitsWithin(settings: Record<string, unknown>, levels: number): number[] {
  const stated = statedBits(settings);
  if (stated !== null) return [stated];
  if (levels === 0) return [];
  return Object.entries(settings).flatMap(([key, value]) =>
    isRecord(value) && !NO_WEIGHTS.test(key) ? bitsWithin(value, levels - 1) : [],
  );
}

function statedBits(settings: Record<string, unknown>): number | null {
  const loaded = LOADED.find(({ keys }) => keys.some((key) => settings[key] === true));
  if (loaded !== undefined) return loaded.bits;
  const stated = BIT_KEYS.map((key) => settings[key]).find((value) => typeof value === 'number');
  if (typeof stated === 'number') return stated;
  for (const key of WORD_KEYS) {
    const word = settings[key];
    const found = typeof word === 'string' ? WORDS.find(([pattern]) => pattern.test(word)) : undefined;
    if (found !== undefined) return found[1];
  }
  return null;
}
