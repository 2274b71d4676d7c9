// Asks Dawn for an adapter and prints its name as JSON, or null. Run as a child process, since a bad driver can take its process down.
// The system's own adapters come first; SVC_VULKAN_DRIVER names another (src/gpu/vulkan-cache.ts).

import { preloadCachedDriver, systemHasVulkanLoader } from '../../dist/gpu/vulkan-cache.js';
import { create } from 'webgpu';

const choice = process.env.SVC_VULKAN_DRIVER;
const systemFirst = !choice || choice === 'system';
let name = null;
if (systemFirst && (process.platform !== 'linux' || systemHasVulkanLoader())) name = await ask();
if (name === null && preloadCachedDriver() !== null) name = await ask();
console.log(JSON.stringify(name));

async function ask() {
  const gpu = create([]);
  globalThis.gpus = [...(globalThis.gpus ?? []), gpu]; // collected while work is pending, it would end the process
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (adapter === null) return null;
  const { vendor, device, description } = adapter.info;
  return [vendor, device, description].filter(Boolean).join(' ');
}
