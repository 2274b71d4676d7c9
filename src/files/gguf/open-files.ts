// Opens the GGUF files of one model: a single file, or all parts of a split one, whose first part has the metadata.

import { badCheckpoint } from '../error.ts';
import { keepingOpen, type ByteSource, type Folder } from '../source.ts';
import { missingParts, setOf } from './file-names.ts';
import { readGguf, type GgufFile, type GgufTensor } from './gguf.ts';
import { malformed } from './header-cursor.ts';
import { GgufKeys } from './keys.ts';

export interface GgufFiles {
  keys: GgufKeys;
  tensors: Map<string, GgufTensor>;
  sources: ByteSource[];
}

/** Opens the file `name` of a folder and the other parts of it. On an error nothing stays open. */
export async function openGgufFiles(folder: Folder, name: string): Promise<GgufFiles> {
  const set = setOf(name, await folder.names());
  const missing = missingParts(set);
  if (missing.length > 0) {
    const others = missing.length === 1 ? '' : ` and ${missing.length - 1} more`;
    throw badCheckpoint(
      `${name} is one of ${set.count} parts, and ${missing[0]}${others} ${missing.length === 1 ? 'is' : 'are'} not beside it: fetch all parts into one folder`,
      missing[0],
    );
  }
  const sources: ByteSource[] = [];
  return keepingOpen(sources, async () => {
    const files: GgufFile[] = [];
    for (const part of set.names) {
      const source = await folder.open(part);
      sources.push(source);
      files.push(await readGguf(source));
    }
    return { keys: new GgufKeys(files[0]!), tensors: merged(files), sources };
  });
}

/** The tensors of all parts. Throws where a part says that it is another one. */
function merged(files: readonly GgufFile[]): Map<string, GgufTensor> {
  const tensors = new Map<string, GgufTensor>();
  for (const [nth, file] of files.entries()) {
    const keys = new GgufKeys(file);
    const [no, count] = [keys.count('split.no', 0), keys.count('split.count', 1)];
    if (Math.max(1, count) !== files.length || no !== nth)
      throw malformed(
        file.name,
        `it is part ${no + 1} of ${count} by its metadata, and part ${nth + 1} of ${files.length} by its name`,
      );
    for (const tensor of file.tensors) {
      const other = tensors.get(tensor.name);
      if (other) throw malformed(file.name, `tensor ${tensor.name} stands in ${other.source.name} too`);
      tensors.set(tensor.name, tensor);
    }
  }
  const [first] = files;
  const stated = new GgufKeys(first!).count('split.tensors.count', tensors.size);
  if (stated !== tensors.size)
    throw malformed(
      first!.name,
      `split.tensors.count is ${stated}, and its parts have ${tensors.size} tensors`,
    );
  return tensors;
}
