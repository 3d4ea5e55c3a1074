import { argumentLow, field, opcode } from "../../src/runners/linux/seccomp/bpf.ts";

export interface SimulatedCall {
  readonly arch: number;
  readonly number: number;
  readonly args?: readonly (number | bigint)[];
}

/** The Linux kernel's decision: runs the filter's bytes on a struct seccomp_data. For tests only. */
export function simulateFilter(program: Buffer, call: SimulatedCall): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number >>> 0, field.syscall);
  data.writeUInt32LE(call.arch, field.arch);
  for (const [index, value] of (call.args ?? []).entries()) {
    data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), argumentLow(index));
  }
  let loaded = 0;
  for (let position = 0; position * 8 < program.length; position++) {
    const jumpTrue = program.readUInt8(position * 8 + 2);
    const jumpFalse = program.readUInt8(position * 8 + 3);
    const operand = program.readUInt32LE(position * 8 + 4);
    const jump = (holds: boolean) => {
      position += holds ? jumpTrue : jumpFalse;
    };
    switch (program.readUInt16LE(position * 8)) {
      case opcode.loadWord:
        loaded = data.readUInt32LE(operand);
        break;
      case opcode.and:
        loaded = (loaded & operand) >>> 0;
        break;
      case opcode.jumpIfEqual:
        jump(loaded === operand);
        break;
      case opcode.jumpIfAtLeast:
        jump(loaded >= operand);
        break;
      case opcode.jumpIfAnyBit:
        jump((loaded & operand) !== 0);
        break;
      case opcode.return:
        return operand;
      default:
        throw new Error(`instruction ${position} is unknown`);
    }
  }
  throw new Error("the filter ran off its end");
}
