// The platform in a page's worker: navigator.gpu, files that the page gave, the browser's storage.

import { EngineError } from '../files/error.ts';
import { openDevice } from '../gpu/browser.ts';
import { MEMORY_REMEDIES } from './memory-remedies.ts';
import { GIVEN, PageFolders, type GivenFiles } from './folders-browser.ts';
import type { Platform } from './platform.ts';
import { tokenizerStarter } from './tokenizer-browser.ts';

/** Settings of a page for all its models. */
export interface BrowserSettings {
  /** Address of a hub with Hugging Face's interface; default: https://huggingface.co. */
  hub?: string;
  /** Access token of the hub. */
  token?: string;
}

export function browserPlatform(files: GivenFiles, _settings: BrowserSettings): Platform {
  const folders = new PageFolders(files);
  return {
    async openDevice({ adapter, memoryBudget }) {
      return openDevice({
        remedies: MEMORY_REMEDIES,
        ...(memoryBudget === undefined ? {} : { memoryBudget }),
        ...(adapter === undefined ? {} : { adapter: String(adapter) }),
      });
    },
    keepTuned: async () => {},
    async resolveModel(model) {
      if (model.startsWith(GIVEN)) return { path: model };
      throw new EngineError('model_not_found', `${model} is no model of this page`);
    },
    openFolder: (path) => folders.open(path),
    folderWithin: async (path) => (folders.has(path) ? { path } : 'missing'),
    coverImage: async (image) => image,
    packed: null,
    openPageStore: null,
    tokenizerThread: tokenizerStarter(folders),
  };
}
