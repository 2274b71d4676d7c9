// Dense modules of sentence-transformers: matrices that vectors of texts pass through, with weights in files of their own.

import { badCheckpoint, unsupported } from '../error.ts';
import { closeAll, readJson, type ByteSource, type Folder } from '../source.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import { readTensorFile } from '../tensors/tensor-file.ts';

export interface DenseModule {
  /** Folder of the module. */
  path: string;
  columns: number;
  rows: number;
  bias: boolean;
  activation: 'none' | 'tanh' | 'gelu' | 'relu' | 'silu';
}

/** Functions of torch, by the ends of their names. */
const ACTIVATIONS: Readonly<Record<string, DenseModule['activation']>> = {
  Identity: 'none',
  Tanh: 'tanh',
  GELU: 'gelu',
  ReLU: 'relu',
  SiLU: 'silu',
};
/** What a module reads and writes by default. */
const VECTOR = 'sentence_embedding';
const MOST_COLUMNS = 2 ** 20;

const isSize = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= MOST_COLUMNS;

/** Errors: bad_checkpoint, unsupported. */
export async function readDenseModule(folder: Folder, path: string): Promise<DenseModule> {
  const file = `${path}/config.json`;
  const config = await readJson(folder, file);
  const {
    in_features: columns,
    out_features: rows,
    bias = true,
    activation_function: name = 'Tanh',
  } = config;
  const { module_input_name: input = VECTOR, module_output_name: output = VECTOR } = config;
  if (!isSize(columns) || !isSize(rows) || typeof bias !== 'boolean')
    throw badCheckpoint(
      `${file} in ${folder.path} has no in_features, out_features and bias: put the published file in its place`,
      'in_features',
    );
  const activation = ACTIVATIONS[String(name).split('.').at(-1)!];
  const foreign = [
    ...(activation === undefined ? [`activation_function ${JSON.stringify(name)}`] : []),
    ...(input === VECTOR && (output ?? VECTOR) === VECTOR
      ? []
      : [`module_input_name ${JSON.stringify(input)}`]),
    ...(config['use_residual'] === true ? ['use_residual true'] : []),
  ];
  if (foreign.length > 0)
    throw unsupported(
      `${file} in ${folder.path}: ${foreign.join(' and ')} is not built; choose a model whose Dense modules have ${Object.keys(ACTIVATIONS).join(', ')}`,
      'activation_function',
    );
  return { path, columns, rows, bias, activation: activation! };
}

/** Beginning of the names of a module's tensors among those of the checkpoint. */
export const denseName = ({ path }: DenseModule): string => `${path}.linear`;

/** The tensors of modules, by those names. Throws bad_checkpoint where a module has none. */
export async function openDenseModules(
  folder: Folder,
  modules: readonly DenseModule[],
): Promise<{ tensors: Map<string, TensorEntry>; close(): Promise<void> }> {
  const sources: ByteSource[] = [];
  const tensors = new Map<string, TensorEntry>();
  try {
    for (const { path } of modules) {
      const source = await folder
        .open(`${path}/model.safetensors`)
        .catch(() => folder.open(`${path}/pytorch_model.bin`))
        .catch((cause: unknown) => {
          throw badCheckpoint(
            `${folder.path} has no ${path}/model.safetensors, from which its Dense module is read: fetch the model again`,
            'model.safetensors',
            cause,
          );
        });
      sources.push(source);
      for (const entry of (await readTensorFile(source)).tensors.values()) {
        const name = `${path}.${entry.name}`;
        tensors.set(name, { ...entry, name, storedAs: entry.name });
      }
    }
  } catch (error) {
    await closeAll(sources);
    throw error;
  }
  return { tensors, close: () => closeAll(sources) };
}
