"""How many bytes the elements of each GGUF tensor type take, so that truncation shows early.

It knows sizes only, not what the bytes mean.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TensorType:
    """A type of the ggml library: rows are cut into blocks of equal size."""

    name: str
    block: int
    """Elements in a block; a row is a multiple of it."""
    block_bytes: int
    row_bytes: int
    """Extra bytes once a row."""

    def size(self, row: int, rows: int) -> int:
        """Bytes of a tensor of `rows` rows with `row` elements each."""
        return rows * (row // self.block * self.block_bytes + self.row_bytes)


# Read from the pinned ik library by its ggml_blck_size, ggml_type_size and ggml_row_size; a test
# compares them again. I2_S packs four ternary weights in a byte behind a header that the library
# does not tell, so its entry is a lower bound.
TENSOR_TYPES: dict[int, TensorType] = {
    0: TensorType("F32", 1, 4, 0),
    1: TensorType("F16", 1, 2, 0),
    2: TensorType("Q4_0", 32, 18, 0),
    3: TensorType("Q4_1", 32, 20, 0),
    6: TensorType("Q5_0", 32, 22, 0),
    7: TensorType("Q5_1", 32, 24, 0),
    8: TensorType("Q8_0", 32, 34, 0),
    9: TensorType("Q8_1", 32, 36, 0),
    10: TensorType("Q2_K", 256, 84, 0),
    11: TensorType("Q3_K", 256, 110, 0),
    12: TensorType("Q4_K", 256, 144, 0),
    13: TensorType("Q5_K", 256, 176, 0),
    14: TensorType("Q6_K", 256, 210, 0),
    15: TensorType("Q8_K", 256, 296, 0),
    16: TensorType("IQ2_XXS", 256, 66, 0),
    17: TensorType("IQ2_XS", 256, 74, 0),
    18: TensorType("IQ3_XXS", 256, 98, 0),
    19: TensorType("IQ1_S", 256, 50, 0),
    20: TensorType("IQ4_NL", 32, 18, 0),
    21: TensorType("IQ3_S", 256, 110, 0),
    22: TensorType("IQ2_S", 256, 82, 0),
    23: TensorType("IQ4_XS", 256, 136, 0),
    24: TensorType("I8", 1, 1, 0),
    25: TensorType("I16", 1, 2, 0),
    26: TensorType("I32", 1, 4, 0),
    27: TensorType("I64", 1, 8, 0),
    28: TensorType("F64", 1, 8, 0),
    29: TensorType("IQ1_M", 256, 56, 0),
    30: TensorType("BF16", 1, 2, 0),
    31: TensorType("Q4_0_4_4", 32, 18, 0),
    32: TensorType("Q4_0_4_8", 32, 18, 0),
    33: TensorType("Q4_0_8_8", 32, 18, 0),
    36: TensorType("I2_S", 4, 1, 0),
    39: TensorType("MXFP4", 32, 17, 0),
    41: TensorType("Q1_0_G128", 128, 18, 0),
    97: TensorType("Q8_0_X4", 32, 34, 0),
    98: TensorType("Q8_1_X4", 32, 36, 0),
    99: TensorType("Q8_2_X4", 32, 36, 0),
    133: TensorType("Q6_0", 32, 26, 0),
    134: TensorType("IQ1_BN", 64, 13, 2),
    135: TensorType("IQ2_BN", 64, 16, 4),
    136: TensorType("Q8_K64", 64, 68, 0),
    137: TensorType("IQ2_K", 256, 76, 0),
    138: TensorType("IQ3_K", 256, 110, 0),
    139: TensorType("IQ4_K", 256, 144, 0),
    140: TensorType("IQ5_K", 256, 176, 0),
    141: TensorType("IQ6_K", 256, 212, 0),
    144: TensorType("IQ4_KS", 256, 136, 4),
    145: TensorType("IQ2_KS", 256, 70, 2),
    146: TensorType("IQ4_KSS", 256, 128, 4),
    147: TensorType("Q8_K16", 64, 64, 20),
    148: TensorType("Q8_K32", 256, 296, 0),
    149: TensorType("Q8_KR8", 256, 296, 0),
    150: TensorType("Q8_K128", 128, 140, 0),
    151: TensorType("Q8_KV", 32, 32, 8),
    152: TensorType("IQ5_KS", 256, 168, 4),
    153: TensorType("IQ2_KT", 256, 68, 4),
    154: TensorType("IQ3_KT", 256, 100, 4),
    155: TensorType("IQ4_KT", 256, 128, 4),
    156: TensorType("IQ3_KS", 256, 102, 2),
    157: TensorType("IQ2_KL", 256, 86, 2),
    158: TensorType("IQ1_KT", 256, 56, 4),
    202: TensorType("Q4_0_R8", 32, 18, 0),
    206: TensorType("Q5_0_R4", 32, 22, 0),
    208: TensorType("Q8_0_R8", 32, 34, 0),
    210: TensorType("Q2_K_R4", 256, 84, 0),
    211: TensorType("Q3_K_R4", 256, 110, 0),
    212: TensorType("Q4_K_R4", 256, 144, 0),
    213: TensorType("Q5_K_R4", 256, 176, 0),
    214: TensorType("Q6_K_R4", 256, 210, 0),
    216: TensorType("IQ2_XXS_R4", 256, 66, 0),
    217: TensorType("IQ2_XS_R4", 256, 74, 0),
    218: TensorType("IQ3_XXS_R4", 256, 98, 0),
    219: TensorType("IQ1_S_R4", 32, 6, 2),
    220: TensorType("IQ4_NL_R4", 32, 18, 0),
    221: TensorType("IQ3_S_R4", 256, 110, 0),
    222: TensorType("IQ2_S_R4", 256, 82, 0),
    223: TensorType("IQ4_XS_R8", 256, 136, 0),
    229: TensorType("IQ1_M_R4", 32, 7, 2),
    230: TensorType("BF16_R16", 1, 2, 0),
    233: TensorType("Q6_0_R4", 32, 26, 0),
    335: TensorType("IQ2_BN_R4", 64, 16, 4),
    337: TensorType("IQ2_K_R4", 256, 76, 0),
    338: TensorType("IQ3_K_R4", 256, 110, 0),
    339: TensorType("IQ4_K_R4", 256, 144, 0),
    340: TensorType("IQ5_K_R4", 256, 176, 0),
    344: TensorType("IQ4_KS_R4", 256, 136, 4),
    352: TensorType("IQ5_KS_R4", 256, 168, 4),
    397: TensorType("Q8_K_R16", 256, 258, 0),
    398: TensorType("Q8_KV_R8", 32, 32, 4),
    399: TensorType("Q8_K_R8", 256, 258, 0),
}
"""By the number that stands in the file."""

FILE_TYPES: dict[int, str] = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
}
"""Names of whole-file quantisations by `general.file_type`, as far as they are published."""
