// The engine loads its shaders, its worker and a native library from its own folder: bundlers leave it as it is.

export default { serverExternalPackages: ['svc-engine'] };
