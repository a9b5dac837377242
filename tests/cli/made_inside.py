"""What compiled code makes and gives away is made when it ends: a function that returns a function is one compiled program."""
import os
import re

from harness.common import TESTS

# script of tests/run/compiled: its functions that are compiled whole
WHOLE = {
    "placed_on_the_host": ["moved", "through", "step"],
    "texts_of_logs": ["braces", "percent", "joined", "shown"],
    "defaults_under_a_derivative": ["step"],
    "buffers_set_inside": ["step", "setup", "write"],
    "members_of_sets": ["step", "decayed"],
    "most_of_tensors": ["extremes"],
    "dicts_of_classes": ["logs", "ordered", "given", "classes", "branches", "gradients"],
    "dicts_of_classes_outside": ["Trainer.step", "settings", "scaled", "two", "kinds", "loops", "value_and_grad(apply)", "grad(attribute_and_item)"],
    "branches_after_generators": ["checked", "first_of", "Trainer.step"],
    "dicts_of_classes_twice": ["view_on_one_side", "made_on_one_side"],
    "logs_that_grow": ["Trainer.step", "Trainer.new_key", "on_data", "objects", "decode", "descend", "grad(kept)"],
    "batches_with_names": ["Agent.update"],
    "early_returns": ["backward"],
    "sizes_that_are_multiples": ["viewed", "repeated", "heads"],
    "generators_of_scripts": ["joined"],
    "generators_numbered_and_zipped": ["all_of_them"],
    "gradients_as_arguments": ["loss_and_gradient", "update", "norm", "clipped", "Momentum.__call__", "same", "twice", "within", "asks"],
    "adaptive_steps": ["value_and_grad(<lambda>)"],
    "raises_on_one_way": ["snapshots", "keys", "nothing"],
    "names_of_functions": ["counted.<locals>.inner", "grad(counted.<locals>.inner)", "sums", "products", "grad(sums)", "grad(products)"],
    "sets_under_a_derivative": ["value_and_grad(loss)", "grad(largest)"],
    "slices_from_outside": ["value_and_grad(make.<locals>.loss)"],
    "functions_made_inside": ["adder", "counter", "objects", "recursive", "others", "stored", "in_a_loop", "raises"],
}


# The same, of functions some of whose operations are the interpreter's.
COMPILED = {
    "selections_in_branches": ["all_of_them", "grad(<lambda>)"],
    "functions_made_inside": ["one_of_two"],
    "counters_in_loops": ["steps", "kept", "Fit.run"],
    "made_for_the_interpreter": ["closures", "nodes", "changed", "printing", "looping", "attributes"],
    "unknown_values_in_place": ["centres_far_apart", "kinds", "all_at_once", "counted", "collected", "seen_once", "largest", "shown", "rows", "together", "first_of", "written"],
    "iterators_of_scripts": ["over", "nested", "shared", "twice", "told", "zipped", "broken", "by_data", "unpacked", "once", "epoch", "of_library"],
    "any_and_all": ["f_any", "f_all", "f_many", "f_it", "f_mixed"],
    "branches_that_differ": ["classes", "functions", "appended", "typed", "typed2", "looped", "early", "nested", "sets", "celled", "globe", "outside"],
}


def parts_of(t, script):
    told = t.run("explain", "--mode=graph", os.path.join(TESTS, "run/compiled", script + ".ouro"), timeout=300).out
    return {m[1]: part for part in re.split(r"\n(?=\S)", told) if (m := re.match(r"([\w.()<>]+) \(", part))}


def test_functions_are_compiled_whole(t):
    for script, functions in WHOLE.items():
        parts = parts_of(t, script)
        t.equal([name for name in functions if name not in parts], [])
        t.equal({name: parts[name] for name in functions if re.search("stays interpreted|interpreted in place|not compiled", parts[name]) or ": compiled;" not in parts[name]}, {})


def test_functions_are_compiled(t):
    for script, functions in COMPILED.items():
        parts = parts_of(t, script)
        t.equal([name for name in functions if name not in parts], [])
        t.equal({name: parts[name] for name in functions if re.search("stays interpreted|not compiled", parts[name])}, {})
