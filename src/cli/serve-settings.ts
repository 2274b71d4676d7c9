// What a served model was opened with and takes, as lines of the log.

import type { ImageModel, ImageModelInfo, TextModel, TextModelInfo } from '../index.ts';
import { sizeText } from './terminal.ts';

/** What was chosen or found, so that nobody has to guess it from the answers. */
export function settingsInForce({ info }: TextModel | ImageModel): string[] {
  return 'pipeline' in info ? imageSettings(info) : textSettings(info);
}

function textSettings(info: TextModelInfo): string[] {
  const { architecture, quantization, contextLength, modelContextLength, memory, adapter } = info;
  const shortened = contextLength < modelContextLength ? ` (the model's own is ${modelContextLength})` : '';
  const { temperature, topP, topK, minP } = info.sampling;
  const { samplingSource: source } = info;
  const used = memory.weights + memory.kv + memory.arena;
  return [
    `Model: ${architecture}, ${millions(info)} M parameters, weights ${weights(quantization)}, context ${contextLength}${shortened}`,
    `Memory: ${sizeText(used)} of ${sizeText(memory.budget)}: ${sizeText(memory.weights)} weights, ${sizeText(memory.kv)} cache, ${sizeText(memory.arena)} scratch; on ${adapter.description || adapter.device}`,
    `Sampling: temperature ${temperature} (${source.temperature}), top_p ${topP} (${source.topP}), top_k ${topK} (${source.topK}), min_p ${minP} (${source.minP})`,
  ];
}

function imageSettings(info: ImageModelInfo): string[] {
  const { pipeline, quantization, defaults, memory, adapter } = info;
  const { width, height, steps, guidance } = defaults;
  return [
    `Model: ${pipeline}, ${millions(info)} M parameters, weights ${weights(quantization)}, ${width} × ${height} in ${steps} steps at guidance ${guidance}`,
    `Memory: ${sizeText(memory.weights)} weights, of ${sizeText(memory.budget)}; on ${adapter.description || adapter.device}`,
  ];
}

const millions = ({ parameters }: { parameters: number }): string =>
  (parameters / 1e6).toFixed(parameters < 1e7 ? 1 : 0);
const weights = (quantization: string): string => (quantization === 'none' ? 'as stored' : quantization);
