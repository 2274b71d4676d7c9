// Components whose weights are packed by another program: refused by component and method before any weight is read, for their
// tensors would only be missing or of another shape.

import { EngineError } from '../error.ts';
import { isRecord } from '../source.ts';

/** Where the programs that quantize write down that they did: a member of the configuration, or a file beside it. */
const MEMBERS = ['quantization_config', 'compression_config', 'quantization'];
const FILES = [
  'quantization_config.json',
  'hf_quant_config.json',
  'quantize_config.json',
  'quanto_qmap.json',
];

export interface Component {
  config: Readonly<Record<string, unknown>>;
  /** The file that holds `config`. */
  file: string;
  /** Names of the files in its folder. */
  names: readonly string[];
}

/** Throws unsupported where the configuration of a component, or a file beside it, declares that its weights are quantized. */
export function refuseQuantized(path: string, name: string, { config, file, names }: Component): void {
  const member = MEMBERS.find((key) => isRecord(config[key]) && Object.keys(config[key]).length > 0);
  const beside = FILES.find((one) => names.includes(one));
  if (member === undefined && beside === undefined) return;
  const method = member === undefined ? null : methodOf(config[member] as Record<string, unknown>);
  const where = member === undefined ? beside! : `${member} in ${file}`;
  throw new EngineError(
    'unsupported',
    `the ${name} in ${path} is quantized${method === null ? '' : ` with ${method}`} (${where}), which is not read: give the original with \`componentPaths\`, and \`quantization\` int8 or int4 for its size`,
    { param: `${name}/${member === undefined ? beside! : file}` },
  );
}

/** What did it: its own word, or the one that its settings tell; null: nothing says. */
function methodOf(settings: Record<string, unknown>): string | null {
  const {
    quant_method: method,
    load_in_4bit: four,
    load_in_8bit: eight,
    bits,
    quant_algo: algorithm,
  } = settings;
  if (typeof method === 'string') return method;
  if (four === true || eight === true) return 'bitsandbytes';
  if (typeof algorithm === 'string') return algorithm;
  return typeof bits === 'number' && 'group_size' in settings ? 'MLX' : null;
}
