// Names of models in messages and in their info.

/** Last segment of a folder or hub id; of a GGUF file, its name without the ending and the number of its part. */
export function modelName(model: string): string {
  const last = model
    .replace(/[/\\]+$/, '')
    .split(/[/\\]/)
    .at(-1);
  return last?.replace(/(-\d{5}-of-\d{5})?\.gguf$/i, '') ?? model;
}
