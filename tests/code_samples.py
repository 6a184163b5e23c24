"""One small file of every language, as somebody might write it."""

from __future__ import annotations

PYTHON = '''import os
from json import loads


class Store(dict):
    """Keeps things."""

    def load(self, path, *, strict=True):
        try:
            with open(path) as file:
                return loads(file.read())
        except OSError as error:
            raise ValueError(f"{path}: {error}") from error

    @property
    def size(self): return len(self)


def test_load(tmp_path):
    sizes = [1, 2,
             {"a": (3, 4)}]
    for size in sizes:
        # counts
        assert size != r"\\d", size


if __name__ == "__main__":
    print(Store().load(os.sep))
'''
TYPESCRIPT = """import { readFile } from 'fs';

/** Keeps things. */
export class Store<T> extends Map<string, T> {
  private path: string = `${process.cwd()}/store`;

  async load(path: string): Promise<void> {
    try {
      const text = await readFile(path);
      for (const [key, value] of Object.entries(JSON.parse(text))) {
        this.set(key, value as T);
      }
    } catch (error) {
      throw new Error("cannot load");
    }
  }
}

const sizes = { small: 1, large: [2, 3] };
const double = (x: number) => {
  return x * 2;
};

describe('store', () => {
  it('doubles', () => { expect(double(2)).toBe(4); });
});
"""
JAVASCRIPT = """const fs = require('fs');

/* Keeps things. */
class Store extends Map {
  load(path) {
    if (/[a-z]+/.test(path)) {
      return fs.readFileSync(`${path}.json`)
    } else {
      throw new Error('cannot load')
    }
  }
}

const sizes = { small: 1, large: [2, 3] }
module.exports = { double: function (x) { return x * 2 } }
"""
TSX = """export function List({ items }: Props) {
  return (
    <ul className="list">
      {items.map((item) => (
        <li key={item.id}>It's {item.name}</li>
      ))}
    </ul>
  );
}
"""
RUST = """use std::{fs, io};

/// Keeps things.
pub struct Store<'a> {
    path: &'a str,
}

impl<'a> Store<'a> {
    pub fn load(&self) -> io::Result<String> {
        let text = fs::read_to_string(self.path)?;
        match text.len() {
            0 => { panic!("empty") }
            _ => Ok(format!(r#"{}"#, text)),
        }
    }
}

#[test]
fn loads() {
    let sizes = vec![1, 2];
    assert!(sizes.iter().all(|size| { *size > 0 }));
}
"""
GO = """package store

import (
	"os"
)

type Store struct {
	path string
}

func (s *Store) Load(strict bool) ([]byte, error) {
	data, err := os.ReadFile(s.path)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(data); i++ {
		sizes := []int{1, 2}
		_ = sizes[i]
	}
	return data, nil
}
"""
JAVA = """package store;

import java.util.List;

@Deprecated
public class Store<T> extends Base {
    private int size = 0;

    @Override
    public static void load(String path) throws IOException {
        if (path == null) {
            throw new IOException("no path");
        }
        List.of(1, 2).forEach(x -> { use(x, 'c'); });
    }
}
"""
C = """#include <stdio.h>

struct store { int size; };

static struct store *load(const char *path)
{
    int sizes[] = {1, 2};
    if (path[0] == '/') {
        printf("%s", path);
    }
    return 0; /* nothing */
}
"""
CPP = """#include <vector>

namespace store {
template <class T>
class Store : public Base {
 public:
  Store() : size_(0) {}
  int load(const std::string &path) const {
    auto all = [](int x) { return x; };
    return all(1);
  }
};
}
"""
CSHARP = """using System;

namespace Store
{
    public class Store : Base
    {
        public int Size { get; set; }

        public void Load(string path)
        {
            try { Read($"{path}.json"); }
            catch (Exception error) { throw; }
        }
    }
}
"""
RUBY = """require 'json'

class Store < Hash
  def load(path)
    return nil if path.nil?
    items.each do |item|
      puts "#{item}: #{path}"
    end
    begin
      read(path)
    rescue Errno::ENOENT => error
      raise ArgumentError
    end
  end
end
"""
PHP = """<?php
namespace Store;
use Some\\Thing;

class Store extends Base {
    public function load(?string $path): array {
        foreach ([1, 2] as $size) {
            echo "size {$size}", 'it';
        }
        return ['a' => 1];
    }
}
"""
BASH = """#!/bin/sh
load() {
  local path="$1"
  if [ -n "$path" ]; then
    for item in $(ls "$path"); do
      echo "${item%.*}"
    done
  fi
  case $path in
    a|b) return 1 ;;
  esac
}
cat <<END
it's ${HOME}
END
load 'x'
"""
SAMPLES = {
    "python": PYTHON,
    "typescript": TYPESCRIPT,
    "tsx": TSX,
    "javascript": JAVASCRIPT,
    "rust": RUST,
    "go": GO,
    "java": JAVA,
    "c": C,
    "cpp": CPP,
    "csharp": CSHARP,
    "ruby": RUBY,
    "php": PHP,
    "bash": BASH,
}
