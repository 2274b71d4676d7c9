// Remedies for this system if no adapter is found, or only one that computes on the CPU. This file imports nothing of the engine,
// so that it also works if the engine cannot be loaded.

import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface System {
  platform: NodeJS.Platform;
  /** ID and ID_LIKE of /etc/os-release. */
  distribution: string[];
  musl: boolean;
  container: boolean;
  wsl: boolean;
  /** Device file of a GPU that this user has no permission to open; null if there is none. */
  lockedDevice: string | null;
}

const MESA: [string[], string][] = [
  [['debian', 'ubuntu'], 'sudo apt install mesa-vulkan-drivers libvulkan1'],
  [['fedora', 'rhel', 'centos'], 'sudo dnf install mesa-vulkan-drivers vulkan-loader'],
  [['suse', 'opensuse'], 'sudo zypper install libvulkan1 libvulkan_radeon libvulkan_intel'],
  [['arch'], 'sudo pacman -S vulkan-icd-loader vulkan-radeon vulkan-intel vulkan-swrast'],
];

/** `hasSoftware`: an adapter that computes on the CPU works, so that a GPU is all that is missing. */
export function remedies(system: System, { hasSoftware = false } = {}): string[] {
  const { platform, distribution, musl, container, wsl, lockedDevice } = system;
  if (platform === 'darwin') {
    return [
      'Metal answers on every Mac with macOS 13 or later: update macOS, and in a virtual machine give it a GPU.',
    ];
  }
  if (platform === 'win32') {
    return [
      "Install the current driver of your GPU's vendor (NVIDIA, AMD or Intel); Direct3D 12 comes with it.",
    ];
  }
  if (musl) {
    return [
      'The WebGPU binding needs glibc, and this system has musl: use an image of Debian, Ubuntu or Fedora.',
    ];
  }
  const mesa = MESA.find(([ids]) => ids.some((id) => distribution.some((own) => own.startsWith(id))))?.[1];
  const sentences = [
    mesa === undefined
      ? "Install the Vulkan loader (libvulkan.so.1) and Mesa's Vulkan drivers, or your GPU vendor's."
      : `${hasSoftware ? 'AMD or Intel' : 'AMD, Intel, or no GPU'}: ${mesa}.`,
    "NVIDIA: install the vendor's own driver; it brings Vulkan along.",
  ];
  if (lockedDevice !== null) {
    sentences.unshift(
      `You may not open ${lockedDevice}: sudo usermod -aG render,video $USER, then log in again.`,
    );
  }
  if (container) {
    sentences.push(
      'In a container also pass the GPU in: --device /dev/dri for AMD and Intel, --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all for NVIDIA.',
    );
  }
  if (wsl)
    sentences.push('Under WSL the GPU needs Mesa with the dzn driver; on Windows itself svc runs as it is.');
  return sentences;
}

export function thisSystem(): System {
  const release = read('/etc/os-release');
  const ids = [...release.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)"?$/gm)].flatMap(([, value = '']) =>
    value.split(' '),
  );
  return {
    platform: process.platform,
    distribution: ids,
    musl: ids.includes('alpine'),
    container: existsSync('/.dockerenv') || existsSync('/run/.containerenv'),
    wsl: /microsoft/i.test(read('/proc/version')),
    lockedDevice: lockedDevice(),
  };
}

function lockedDevice(): string | null {
  const folder = '/dev/dri';
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith('renderD')) : [];
  return names.map((name) => join(folder, name)).find((path) => !mayUse(path)) ?? null;
}

function mayUse(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
