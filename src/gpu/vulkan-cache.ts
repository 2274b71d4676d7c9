// The Vulkan driver that set-up fetched into the user's cache, which is loaded into this process without root, LD_LIBRARY_PATH or a restart.
//
// Found by trying Dawn's binding on Linux: Dawn opens "libvulkan.so.1" anew for every `create()`, and glibc answers a bare name with
// a library of that SONAME already in the process. So preloading by absolute path works before the first `create()`, and just as well
// after a `create()` whose requestAdapter() said null; only a new `create()` is needed. RTLD_LOCAL is enough, and keeps LLVM's symbols
// away from other addons. In a worker of Node, setting VK_DRIVER_FILES reaches the C side only if the worker was started with `env: SHARE_ENV`.

import { existsSync, readFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { EngineError } from '../files/error.ts';
import { nativeLibraries } from './native-library.ts';

export type CachedDriver = 'lavapipe' | 'swiftshader';

/** The manifest that set-up writes beside the libraries: file names within the driver's folder, dependencies first. */
interface DriverManifest {
  icd: string;
  preload: string[];
}

let loaded: CachedDriver | null = null;

/** The folder that set-up fills, with a subfolder per driver. */
export function vulkanCacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'svc-engine', 'vulkan');
}

/** Returns true if the system has a Vulkan loader. Without one, requesting an adapter from Dawn only prints a warning. */
export function systemHasVulkanLoader(): boolean {
  return process.platform === 'linux' && nativeLibraries().open('libvulkan.so.1') === null;
}

/**
 * Makes the cached driver the one that the next `create()` finds, and returns its name; null if there is none or if
 * SVC_VULKAN_DRIVER=system forbids it. SVC_VULKAN_DRIVER=lavapipe or swiftshader overrides `which` and makes a missing driver an
 * error. A process can use one driver only.
 */
export function preloadCachedDriver(which: CachedDriver = 'lavapipe'): CachedDriver | null {
  if (loaded !== null || process.platform !== 'linux') return loaded;
  const wanted = process.env['SVC_VULKAN_DRIVER'] || null;
  if (wanted === 'system') return null;
  if (wanted !== null && wanted !== 'lavapipe' && wanted !== 'swiftshader') {
    throw new EngineError(
      'no_adapter',
      `SVC_VULKAN_DRIVER is "${wanted}", but must be lavapipe, swiftshader or system`,
    );
  }
  const driver = wanted ?? which;
  const folder = join(vulkanCacheFolder(), driver);
  const manifest = readManifest(join(folder, 'manifest.json'));
  if (manifest === null) {
    if (wanted === null) return null;
    throw new EngineError(
      'no_adapter',
      `SVC_VULKAN_DRIVER asks for ${driver}, but ${folder} holds no driver: run the set-up script of the source tree, or unset it`,
    );
  }
  openAll(manifest.preload.map((name) => join(folder, name)));
  const icd = join(folder, manifest.icd);
  const { setVariable } = nativeLibraries();
  setVariable('VK_DRIVER_FILES', icd);
  setVariable('VK_ICD_FILENAMES', icd); // the name of the variable for loaders before 1.3.207
  if (process.env['XDG_RUNTIME_DIR'] === undefined) setVariable('XDG_RUNTIME_DIR', tmpdir()); // lavapipe prints a warning without it
  loaded = driver;
  return driver;
}

function readManifest(file: string): DriverManifest | null {
  if (!existsSync(file)) return null;
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Partial<DriverManifest>;
  return manifest.icd && manifest.preload ? { icd: manifest.icd, preload: manifest.preload } : null;
}

/** Opens each library, and again those whose dependencies came later in the list. */
function openAll(files: string[]): void {
  const { open } = nativeLibraries();
  let pending = files;
  while (pending.length > 0) {
    const failed = pending.filter((file) => open(file) !== null);
    if (failed.length === pending.length) {
      throw new EngineError(
        'no_adapter',
        `the cached Vulkan driver cannot be loaded (${open(failed[0]!)}): delete ${vulkanCacheFolder()} and run set-up again`,
      );
    }
    pending = failed;
  }
}
