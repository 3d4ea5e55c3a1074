/** One classic BPF instruction, as in the Linux kernel's struct sock_filter. */
export interface Instruction {
  readonly code: number;
  readonly jumpTrue: number;
  readonly jumpFalse: number;
  readonly operand: number;
}

export const opcode = {
  loadWord: 0x20,
  and: 0x54,
  jumpIfEqual: 0x15,
  jumpIfAtLeast: 0x35,
  jumpIfAnyBit: 0x45,
  return: 0x06,
} as const;

const longestJump = 255;

/** Offsets into struct seccomp_data. */
export const field = { syscall: 0, arch: 4 } as const;

/** Lower 32 bits of a system call's argument, which the Linux kernel reads if the parameter is an int. */
export const argumentLow = (index: number): number => 16 + 8 * index;
export const argumentHigh = (index: number): number => 20 + 8 * index;

/** Loads a word of struct seccomp_data for the tests that follow. */
export function load(offset: number): Instruction[] {
  return [instruction(opcode.loadWord, offset)];
}

export function keepBits(mask: number): Instruction[] {
  return [instruction(opcode.and, mask)];
}

export function answer(verdict: number): Instruction[] {
  return [instruction(opcode.return, verdict)];
}

export function ifEqual(values: readonly number[], then: readonly Instruction[]): Instruction[] {
  return branch(opcode.jumpIfEqual, values, then);
}

export function unlessEqual(value: number, then: readonly Instruction[]): Instruction[] {
  return [instruction(opcode.jumpIfEqual, value, checked(then).length, 0), ...then];
}

export function ifAtLeast(value: number, then: readonly Instruction[]): Instruction[] {
  return branch(opcode.jumpIfAtLeast, [value], then);
}

export function ifAnyBit(mask: number, then: readonly Instruction[]): Instruction[] {
  return branch(opcode.jumpIfAnyBit, [mask], then);
}

/** Little-endian bytes, as the Linux kernel and `bwrap --seccomp` read them. */
export function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, { code, jumpTrue, jumpFalse, operand }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, index * 8 + 2);
    bytes.writeUInt8(jumpFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand, index * 8 + 4);
  }
  return bytes;
}

/** Runs `then` if a value matches. Otherwise it continues after it, with the loaded word unchanged. */
function branch(test: number, values: readonly number[], then: readonly Instruction[]): Instruction[] {
  const body = checked(then);
  if (values.length === 0) return [];
  if (values.length > longestJump) throw new RangeError("a test of a filter has too many values");
  const tests = values.map((value, index) => {
    const testsLeft = values.length - index - 1;
    return instruction(test, value, testsLeft, testsLeft === 0 ? body.length : 0);
  });
  return [...tests, ...body];
}

/** Jump offsets are one byte. A branch must not fall through, because it may have loaded another word. */
function checked(then: readonly Instruction[]): readonly Instruction[] {
  if (then.at(-1)?.code !== opcode.return) throw new RangeError("a branch of a filter must end with a return");
  if (then.length > longestJump) throw new RangeError("a branch of a filter is too long");
  return then;
}

function instruction(code: number, operand: number, jumpTrue = 0, jumpFalse = 0): Instruction {
  return { code, jumpTrue, jumpFalse, operand: operand >>> 0 };
}
