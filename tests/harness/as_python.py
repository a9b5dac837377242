"""Runs an .ouro file as Python does a .py file: it is __main__, and finds .ouro modules beside it."""
import importlib.machinery
import os
import runpy
import sys

sys.dont_write_bytecode = True
sys.argv = sys.argv[1:]
folder = os.path.dirname(os.path.abspath(sys.argv[0]))
loaders = [(importlib.machinery.SourceFileLoader, [".ouro", ".py"])]
sys.path[0] = folder
sys.path_hooks.insert(0, importlib.machinery.FileFinder.path_hook(*loaders))
sys.path_importer_cache.pop(folder, None)
sys.stdout.reconfigure(encoding="utf-8")
runpy.run_path(sys.argv[0], run_name="__main__")
