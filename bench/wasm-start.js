export async function wasmStart() {
  return [];
}
