// An adapter that answers: the system's own, else one fetched into the user's cache, else a sentence that says what to install.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { driverNote, fetchDriver } from './vulkan.mjs';

const probeScript = fileURLToPath(new URL('probe.mjs', import.meta.url));

/** @returns {string} the name of the adapter that a program will get */
export function ensureAdapter() {
  const name = probe() ?? (process.platform === 'linux' ? probe('lavapipe') : null);
  if (name !== null) return name;
  const reason = process.platform === 'linux' ? fetchDriver('lavapipe') : null;
  const fetched = reason === null ? probe() : null;
  if (fetched !== null) return fetched;
  throw new Error(['No GPU adapter answers.', reason, remedy()].filter(Boolean).join(' '));
}

/** @returns {string | null} the name of the second software adapter, or null where it cannot be had */
export function ensureSwiftShader() {
  if (process.platform !== 'linux') return null;
  const name = probe('swiftshader');
  if (name !== null || driverNote('swiftshader') !== null) return name;
  return fetchDriver('swiftshader') === null ? probe('swiftshader') : null;
}

/** The adapter's name as a child process sees it; null when none answers or the driver breaks the process. */
function probe(driver) {
  const env = { ...process.env };
  if (driver) env.SVC_VULKAN_DRIVER = driver;
  const result = spawnSync(process.execPath, [probeScript], { encoding: 'utf8', env, timeout: 60_000 });
  return result.status === 0 ? JSON.parse(result.stdout.trim().split('\n').at(-1)) : null;
}

function remedy() {
  if (process.platform === 'darwin')
    return 'On macOS Metal should always answer: is this a virtual machine without a GPU?';
  if (process.platform === 'win32') return "Install your GPU vendor's current driver (Direct3D 12).";
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const ids = release.match(/^ID(_LIKE)?=.*$/gm)?.join(' ') ?? '';
  if (/debian|ubuntu/.test(ids))
    return 'Install a Vulkan driver: sudo apt install mesa-vulkan-drivers libvulkan1';
  if (/fedora|rhel/.test(ids))
    return 'Install a Vulkan driver: sudo dnf install mesa-vulkan-drivers vulkan-loader';
  if (/suse/.test(ids)) return 'Install a Vulkan driver: sudo zypper install libvulkan1 libvulkan_lvp';
  if (/arch/.test(ids))
    return "Install a Vulkan driver: sudo pacman -S vulkan-icd-loader vulkan-swrast (or your GPU's)";
  if (/alpine/.test(ids))
    return "Dawn's binding is built for glibc, which Alpine does not have: use a Debian or Ubuntu image.";
  return "Install the Vulkan loader (libvulkan.so.1) and Mesa's or your GPU vendor's Vulkan driver.";
}
