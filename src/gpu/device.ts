// A device: its limits and features, its profile, the pipelines made on it, the memory allocated on it, and its loss. One Device
// owns one GPUDevice.

import type { EngineError } from '../files/error.ts';
import type { AdapterSummary } from './adapter.ts';
import type { ProbedAdapter } from './adapter-probe.ts';
import { profileOf, type AdapterProfile } from './adapter-profile.ts';
import { Arena } from './arena.ts';
import { checkLanguage, readCapabilities, type Capabilities } from './capabilities.ts';
import { toEngineError } from './gpu-error.ts';
import { HostBuffers } from './host-buffers.ts';
import { link, type LinkedShader, type Params, type ShaderSource } from './linker.ts';
import { DeviceMemory, PLAIN_REMEDIES, wholeOf } from './memory.ts';
import type { MemoryKind, MemoryPeak, MemoryRemedies } from './memory.ts';
import { Tuning } from './tuning.ts';
import { Tensor, tensorBytes, type Dtype, type Region } from './tensor.ts';
export type { MemoryKind } from './memory.ts';

export interface Pipeline {
  gpu: GPUComputePipeline;
  layout: GPUBindGroupLayout;
  shader: LinkedShader;
}

export interface DeviceSettings {
  shaders: ShaderSource;
  /** WGSL language features that shaders may require; left out: all. */
  languageFeatures?: ReadonlySet<string>;
  summary: AdapterSummary;
  /** Left out: the adapter is as it says. */
  probed?: ProbedAdapter;
  /** Default: derived from the summary. */
  profile?: AdapterProfile;
  /** Bytes for everything on the device. */
  memoryBudget: number;
  /** Bytes of host memory for weights that are not on the device; left out: without a limit. */
  hostBudget?: number;
  /** Bytes of host memory that were free where the adapter shares them; left out: its memory is its own, or not known. */
  sharedMemory?: number;
  /** The budget is a cautious estimate that `reserve` may raise by trying to allocate. */
  mayGrow?: boolean;
  /** Remedies in errors of memory; default: PLAIN_REMEDIES. */
  remedies?: MemoryRemedies;
  /** Default: no kernel is tuned. */
  tuning?: Tuning;
  /** Lowers the binding limit; for tests of windowed tensors. */
  bindingLimit?: number;
  /** Uses kernels without subgroups even if the adapter has them. */
  portable?: boolean;
}

export class Device {
  readonly gpu: GPUDevice;
  readonly summary: AdapterSummary;
  /** null: the adapter was not probed. */
  readonly probed: ProbedAdapter | null;
  readonly profile: AdapterProfile;
  readonly capabilities: Capabilities;
  readonly sharedMemory: DeviceSettings['sharedMemory'];
  readonly arena: Arena;
  /** Weights in host memory and in files. */
  readonly host: HostBuffers;
  readonly tuning: Tuning;
  /** Resolves with the reason when the device is lost. */
  readonly lost: Promise<string>;
  /** Units of a tape, about a layer each, by which copies of operands in host memory precede their use. */
  prefetch = 1;
  /** Called where `reserve` finds too little: each may free what its owner can do without for now. */
  readonly reliefs = new Set<() => void>();
  #isLost = false;
  #reason: string | null = null;
  /** Pipelines that the driver is known to have compiled. */
  readonly compiled = new WeakSet<GPUComputePipeline>();
  readonly #memory: DeviceMemory;
  readonly #shaders: ShaderSource;
  readonly #languageFeatures: ReadonlySet<string> | undefined;
  readonly #added = new Map<string, string>();
  readonly #pipelines = new Map<string, Pipeline>();
  #error: EngineError | null = null;

  constructor(gpu: GPUDevice, settings: DeviceSettings) {
    this.gpu = gpu;
    this.summary = settings.summary;
    this.probed = settings.probed ?? null;
    this.profile = settings.profile ?? profileOf(settings.summary);
    this.tuning = settings.tuning ?? new Tuning();
    ({ sharedMemory: this.sharedMemory, shaders: this.#shaders } = settings);
    this.#languageFeatures = settings.languageFeatures;
    this.capabilities = readCapabilities(gpu, this.profile, settings);
    this.#memory = new DeviceMemory(gpu, {
      ...settings,
      // Errors that follow from the missing buffer may be reported before it.
      onFailure: (error) => {
        if (this.#error?.code !== 'out_of_memory') this.#error = error;
      },
    });
    this.arena = new Arena(this.#memory);
    this.host = new HostBuffers(gpu, settings.hostBudget, (settings.remedies ?? PLAIN_REMEDIES).host);
    gpu.addEventListener('uncapturederror', (event) => {
      event.preventDefault();
      this.#error ??= toEngineError(event.error);
    });
    this.lost = gpu.lost.then(({ message, reason }) => {
      this.#isLost = true;
      return this.#reason ?? (message || reason);
    });
  }

  /** Set by `destroy`, and before `lost` resolves. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Returns the reason why the device is lost, or null if it works. Operations may fail before `lost` resolves, so this maps a buffer that
   * no command uses: that succeeds at once on a working device (0.1 ms under a second of queued work), and fails with AbortError on a lost one.
   */
  async loss(): Promise<string | null> {
    const probe = this.gpu.createBuffer({ label: 'loss probe', size: 4, usage: 0x1 | 0x8 }); // MAP_READ | COPY_DST
    try {
      await probe.mapAsync(1);
      return null;
    } catch (cause) {
      // A device without memory for the buffer rejects with OperationError, and is not lost.
      return (cause as { name?: unknown }).name === 'AbortError' ? await this.lost : null;
    } finally {
      probe.destroy();
    }
  }

  /** Returns, once, the first error that the GPU layer reported outside of any error scope. */
  takeError(): EngineError | null {
    const error = this.#error;
    this.#error = null;
    return error;
  }

  /** Whether there is an error that was not taken yet. */
  get hasError(): boolean {
    return this.#error !== null;
  }

  /** Returns the pipeline of a shader, which is created once. Layouts are explicit, because `auto` compiles again each time. */
  pipeline(name: string, params: Params = {}): Pipeline {
    const key = name + JSON.stringify(params);
    let pipeline = this.#pipelines.get(key);
    if (!pipeline) {
      pipeline = this.#compile(this.link(name, params));
      this.#pipelines.set(key, pipeline);
    }
    return pipeline;
  }

  /** Adds a file below shaders/ for this device only; `dropShader` removes it together with the pipelines that use it. */
  addShader(path: string, text: string): void {
    this.#added.set(path, text);
  }

  dropShader(path: string, variant: string): void {
    this.#added.delete(path);
    for (const key of this.#pipelines.keys())
      if (key.includes(JSON.stringify(variant))) this.#pipelines.delete(key);
  }

  shaderText(path: string): string {
    return this.#added.get(path) ?? this.#shaders(path);
  }

  /** The text of a kernel as this device compiles it. */
  link(name: string, params: Params = {}): LinkedShader {
    return link((path) => this.shaderText(path), name, params, this.capabilities);
  }

  #compile(shader: LinkedShader): Pipeline {
    checkLanguage(shader, this.#languageFeatures);
    const layout = this.gpu.createBindGroupLayout({
      entries: shader.bindings.map(({ index, type }) => ({
        binding: index,
        visibility: 4, // COMPUTE
        buffer: { type },
      })),
    });
    const module = this.gpu.createShaderModule({ code: shader.code, label: shader.name });
    const gpu = this.gpu.createComputePipeline({
      label: shader.name,
      layout: this.gpu.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module, entryPoint: 'main' },
    });
    return { gpu, layout, shader };
  }

  /** Errors and warnings of a shader's text, each as `file.wgsl:line {params}: message`. */
  async diagnose(name: string, params: Params = {}): Promise<string[]> {
    const shader = this.link(name, params);
    this.gpu.pushErrorScope('validation');
    const compiled = this.gpu.createShaderModule({ code: shader.code }).getCompilationInfo();
    // Both run in the same tick, so that the scope covers no other calls.
    const [info] = await Promise.all([compiled, this.gpu.popErrorScope()]);
    const messages = info.messages.map(({ lineNum, message }) => `${shader.locate(lineNum)}: ${message}`);
    if (messages.length > 0) return messages;
    this.gpu.pushErrorScope('validation');
    this.#compile(shader);
    const error = await this.gpu.popErrorScope();
    return error ? [`${shader.locate(0)}: ${error.message}`] : [];
  }

  /** Allocates a storage buffer within the budget. Throws out_of_memory. */
  allocate(kind: MemoryKind, label: string, bytes: number): GPUBuffer {
    return this.#memory.allocate(kind, label, bytes);
  }

  /**
   * Runs `allocate`, which must not wait for anything, and waits until the device has what it allocated. Throws out_of_memory where it has no
   * room for it: `takeError` does not return such an error.
   */
  secure<T>(allocate: () => T): Promise<T> {
    return this.#memory.secure(allocate);
  }

  /** Allocates a buffer in host memory beside the budget, from which the device copies. Throws out_of_memory. */
  allocateHost(label: string, bytes: number): GPUBuffer {
    return this.host.allocate(label, bytes);
  }

  /** Whether a buffer was allocated here and not freed. */
  owns(buffer: GPUBuffer): boolean {
    return this.#memory.owns(buffer) || this.host.owns(buffer);
  }

  free(buffer: GPUBuffer): void {
    this.host.free(buffer);
    this.#memory.free(buffer);
  }

  get memoryBudget(): number {
    return this.#memory.budget;
  }

  /** Whether `reserve` may raise the budget. */
  get mayGrow(): boolean {
    return this.#memory.mayGrow;
  }

  /** Raises a guessed budget to `bytes` if the device can give them. */
  reserve(bytes: number): Promise<boolean> {
    return this.#memory.reserve(bytes, this.reliefs);
  }

  get memoryUsed(): number {
    return this.#memory.used;
  }

  /** Returns the peak of allocated bytes since the last call. */
  takePeak(): number {
    return this.#memory.takePeak();
  }

  /** The most bytes that were ever allocated at one time. */
  get highestMemory(): MemoryPeak {
    return this.#memory.highest;
  }

  /** Bytes allocated, by purpose. */
  memory(): Readonly<Record<MemoryKind, number>> {
    return this.#memory.totals();
  }

  /** Creates a tensor with a buffer of its own that holds `values` row by row, with zeros as padding. */
  tensor(kind: MemoryKind, label: string, shape: number[], values: Float32Array | Uint32Array): Tensor {
    const dtype: Dtype = values instanceof Float32Array ? 'f32' : 'u32';
    const buffer = this.allocate(kind, label, tensorBytes(shape, {}));
    const tensor = new Tensor(shape, dtype, { region: wholeOf(buffer) });
    const { columns, stride } = tensor;
    const padded = new Uint32Array(buffer.size / 4);
    const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
    for (let row = 0; row * columns < bits.length; row++)
      padded.set(bits.subarray(row * columns, (row + 1) * columns), row * stride);
    this.gpu.queue.writeBuffer(buffer, 0, padded);
    return tensor;
  }

  /** Copies the bytes of a region to the CPU. */
  async read(region: Region): Promise<ArrayBuffer> {
    const staging = this.gpu.createBuffer({ size: region.size, usage: 0x1 | 0x8 }); // MAP_READ | COPY_DST
    const encoder = this.gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(region.buffer, region.offset, staging, 0, region.size);
    this.gpu.queue.submit([encoder.finish()]);
    await staging.mapAsync(1);
    const bytes = staging.getMappedRange().slice(0);
    staging.destroy();
    return bytes;
  }

  /** `reason`: why the device is given up, as if it were lost. */
  destroy(reason: string | null = null): void {
    this.#reason ??= reason;
    this.#isLost = true;
    this.gpu.destroy();
  }
}
